"""The demo's names, places and forms of identifiers: one pool a split, and no value in two of them. Data alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pool:
    """The values of one split. `made_up`: the share of names built from syllables instead of taken from a list.

    Masks: `#` is a digit, `@` a capital letter, anything else stands for itself.
    """

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]
    streets: tuple[str, ...]
    cities: tuple[str, ...]
    hospitals: tuple[str, ...]
    pharmacies: tuple[str, ...]
    employers: tuple[str, ...]
    mail_hosts: tuple[str, ...]
    id_masks: tuple[str, ...]
    phone_masks: tuple[str, ...]
    years: tuple[int, int]
    made_up: float = 0.0


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split(";"))


TRAIN = Pool(
    female=_words(
        "Anna Mary Laura Susan Karen Emily Rachel Olivia Sophie Claire Helen Diana Joan Ruth Alice Martha Julia Nora "
        "Victoria Megan Paula Teresa Carmen Lucía María Inés Elena Ingrid Astrid Greta Hélène Zoë Fatima Aisha Leila "
        "Yasmin Priya Anjali Mei Yuki Hana Chloe Grace Rose Daisy Amber Tanya Olga Natasha Agnes Beatrice Dorothy "
        "Edith Gloria Irene Kathleen Lillian Marjorie Pamela Sandra Sheila Vera Wanda Yvonne Bridget Siobhan Nóra "
        "Abigail Adele Adriana Alexandra Alicia Allison Amanda Amelia Amy Andrea Angela Angelica Annette Ariana "
        "Audrey Barbara Belinda Bella Bernadette Bertha Beth Bianca Bonnie Brenda Brianna Camille Candice Carla Carol "
        "Caroline Cassandra Catherine Cecilia Charlotte Cheryl Christina Cindy Clara Constance Cora Courtney Crystal "
        "Cynthia Danielle Daphne Deborah Denise Dolores Donna Doris Eileen Eleanor Eliza Elizabeth Ella Elsa Emma "
        "Erica Esther Eva Evelyn Felicity Fiona Florence Frances Gabriella Gail Genevieve Georgia Geraldine Gina "
        "Ginger Hannah Hazel Heather Heidi Holly Ida Isabel Ivy Jacqueline Jane Janet Jasmine Jennifer Jessica Jill "
        "Jocelyn Johanna Josephine Joyce Judith Juliet Justine Katarina Katherine Kelly Kimberly Kirsten Kristin "
        "Larissa Lena Leona Lesley Linda Lisa Lola Lorraine Louise Lucy Lydia Mabel Madeline Magdalena Margaret "
        "Margot Marianne Marina Marlene Matilda Maureen Melanie Melissa Mercedes Michelle Mildred Minerva Miranda "
        "Monica Muriel Nadia Nancy Naomi Natalie Nicole Nina Norma Octavia Odette Olive Patricia Pauline Pearl "
        "Penelope Phyllis Rebecca Regina Rhonda Roberta Rosemary Roxanne Sabrina Samantha Sarah Serena Sharon Shirley "
        "Simone Sofia Stella Stephanie Sylvia Tabitha Thelma Tina Ulrike Ursula Valentina Valerie Vanessa Veronica "
        "Violet Virginia Vivian Wendy Xenia Yolanda Zelda Amara Ngozi Folake Abena Adaeze Shreya Kavita Lakshmi Meera "
        "Deepa Sunita Noriko Ayumi Linh Huong Xiu Ewa Agnieszka Katarzyna Malgorzata Svetlana Ludmila Oksana Ilona "
        "Eszter Ildikó Réka Solveig Liv Sigrid Freja Ilse Gudrun Brünhilde Käthe Chloé Amélie Céline Éloïse "
        "Margaux Rocío Pilar Consuelo Guadalupe Esperanza Beatriz Conceição Aoife Niamh Catriona Morag Eilidh "
        "Rhiannon Bronwyn Angharad Latoya Keisha Shanice Tamika"
    ),
    male=_words(
        "John James Robert Michael William David Thomas Charles Daniel Matthew Anthony Mark Paul Steven Andrew Kevin "
        "Brian George Edward Ronald Peter Henry Carl Arthur Ryan Roger Joe Juan Luis Jesús Ramón Andrés Pedro Jürgen "
        "Günther Hans Klaus Björn Lars Sven François René André Ahmed Omar Ali Hassan Raj Vikram Arjun Wei Hiroshi "
        "Kenji Liam Noah Ethan Jack Frank Albert Walter Harold Ernest Stanley Leonard Ivan Boris Dmitri Cormac Seán "
        "Aaron Abraham Adam Adrian Alan Alexander Alfred Alvin Amos Angus Antonio Archibald Armand Augustus Austin "
        "Barry Bartholomew Benedict Benjamin Bernard Blake Bradley Brandon Brendan Bruce Byron Calvin Cameron Casey "
        "Cecil Cedric Chester Christian Christopher Clarence Clayton Clement Clifford Clive Colin Conrad Craig Curtis "
        "Cyril Damian Darren Dennis Derek Desmond Dominic Donald Douglas Duke Dwight Dylan Earl Edgar Edmund Edwin "
        "Eli Elliot Elmer Emmanuel Eric Eugene Evan Felix Ferdinand Floyd Francis Franklin Frederick Gabriel Garrett "
        "Gavin Geoffrey Gerald Gilbert Glenn Godfrey Gordon Graham Gregory Gustav Guy Harry Harvey Hector Herbert "
        "Herman Howard Hubert Hugh Hugo Humphrey Ian Isaac Jacob Jared Jason Jasper Jeffrey Jeremy Jerome Jesse Joel "
        "Jonathan Joseph Joshua Julian Justin Keith Kenneth Kurt Lance Lawrence Leon Leroy Leslie Lewis Lionel Lloyd "
        "Louis Lucas Luther Malcolm Marcus Mario Marshall Martin Marvin Maurice Max Maximilian Melvin Miles Mitchell "
        "Morris Nathan Neil Neville Nicholas Nigel Norman Oliver Orlando Oscar Otis Otto Owen Patrick Percy Perry "
        "Philip Ralph Ramiro Randolph Raymond Reginald Rex Richard Roderick Rodney Roland Roman Rory Ross Roy Rudolph "
        "Russell Samuel Scott Sebastian Seth Shane Sheldon Sidney Silas Simon Spencer Stephen Stuart Sylvester "
        "Terence Terry Theodore Timothy Toby Todd Trevor Tristan Tyler Ulysses Uriah Valentin Vernon Victor Vincent "
        "Virgil Wallace Warren Wayne Wesley Wilbur Wilfred Winston Wolfgang Xavier Zachary Kofi Kwame Chidi Babatunde "
        "Olumide Sanjay Rohan Ashok Suresh Haruki Takeshi Minh Duc Zhiwei Piotr Krzysztof Zbigniew Stanisław Wojciech "
        "Mikhail Sergei Yuri Vladimir László István Gábor Knut Håkon Øyvind Magnus Leif Rasmus Heinrich Siegfried "
        "Joachim Jörg Étienne Jérôme Gaston Thierry Raúl Álvaro Joaquín Ignacio Rodrigo Gonçalo João Ciarán Eoghan "
        "Padraig Callum Hamish Gethin Rhys Darnell Tyrone Jamal Mustafa Yusuf Khalid Bilal"
    ),
    last=_words(
        "Smith Johnson Williams Brown Jones Davis Miller Wilson Moore Taylor Anderson Thomas Jackson White Harris "
        "Martin Thompson Young King Wright Hill Green Adams Baker Nelson Carter Mitchell Turner Phillips Campbell "
        "Parker Evans Edwards Collins Stewart Morris Rogers Reed Cook Morgan Bell Murphy Bailey Cooper Richardson Cox "
        "Howard Ward García Martínez Rodríguez López Hernández González Pérez Sánchez Ramírez Núñez Schröder Krüger "
        "Böhm Weiß Schmidt Fischer Weber Wagner Becker Hoffmann O'Brien O'Connor McDonald McCarthy MacLeod Fitzgerald "
        "Kowalski Nowak Novák Horváth Nagy Ivanov Petrov Popescu Rossi Ferrari Romano Dubois Lefèvre Moreau Lambert "
        "Patel Singh Kumar Sharma Khan Ahmed Hassan Nguyen Tran Chen Wang Li Zhang Kim Park Lee Tanaka Suzuki Sato "
        "Okoye Mensah Adeyemi Johansson Nielsen Hansen Sørensen Lindqvist Virtanen Smith-Jones Hall-Baker Price-Evans "
        "Stone Fox Brooks Rice Abbott Acevedo Acosta Aldridge Alvarez Appleton Archer Armitage Arnold Atkinson Avery "
        "Baldwin Ballard Bancroft Barlow Barnes Barrett Barron Barton Bateman Baxter Beaumont Beck Benson Bentley "
        "Bergstrom Blackwell Blair Bolton Booth Boswell Bowen Bowman Bradford Bradshaw Braun Brewster Briggs Bristow "
        "Brooke Browning Bryant Buchanan Buckley Burgess Burke Burnett Butler Byrne Calderón Caldwell Callahan Cannon "
        "Cardoso Carlson Carmichael Carpenter Carroll Carver Castillo Chamberlain Chandler Chapman Chaudhry "
        "Christensen Clayton Clifton Coleman Connolly Contreras Conway Corbett Cortez Coulter Crawford Crosby "
        "Cunningham Dalton Daly Darlington Davenport Dawson Delgado Dempsey Díaz Dickinson Dixon Donovan Douglas "
        "Doyle Drake Driscoll Duarte Duffy Dunn Dyer Eastwood Eckert Eldridge Ellington Elliott Ellis Emerson "
        "English Erickson Escobar Espinoza Everett Fairchild Farrell Faulkner Fernández Finch Finnegan Fleming "
        "Fletcher Flores Flynn Forrest Forsythe Foster Fowler Franco Franklin Frazier Freeman Fuller Gallegos Gardner "
        "Garrett Gibbons Gibson Gilbert Gill Gilmore Glover Goldberg Goldstein Goodwin Gordon Graham Grant Greenwood "
        "Gregory Griffith Griffiths Guerrero Gustafsson Gutiérrez Haas Hamilton Hammond Hancock Hanson Harding Harper "
        "Harrington Hartley Harvey Hastings Hawkins Hayes Heath Henderson Hendricks Henriksen Herbert Herrera Hicks "
        "Higgins Hirsch Hobbs Hodges Holbrook Holland Holt Hopkins Horton Hubbard Hudson Huffman Hughes Humphrey Hunt "
        "Hussain Hutchinson Ingram Irving Isherwood Jacobs Jacobsen Jarvis Jefferson Jennings Jensen Jiménez Joyce "
        "Kaplan Keating Keller Kendrick Kennedy Kent Kerr Kingsley Klein Knight Knox Koch Kramer Lancaster "
        "Langley Larkin Larsen Lawson Leblanc Leclerc Leonard Lester Lindsey Livingston Lloyd Lockwood Logan Lowell "
        "Lucas Lynch Macdonald Mahoney Malone Manning Marlow Marsden Marshall Mason Masterson Mathews Maxwell Mayer "
        "McBride McCormick McDermott McGrath McIntyre McKenzie McLaughlin McNamara Meadows Mendoza Mercer Merritt "
        "Meyer Middleton Milligan Mills Monroe Mooney Morales Moran Moreno Mortimer Mullen Myers Navarro "
        "Neumann Newman Newton Nicholls Nicholson Nilsson Nolan Norris Northcott Norton O'Donnell O'Keefe O'Leary "
        "O'Neill O'Sullivan Oakley Obi Oduya Oliver Olsen Ortega Osborne Osei Owens Padilla Page Palmer Pape Parsons "
        "Patterson Payne Peacock Pearce Pearson Perkins Peters Pfeiffer Pickering Pierce Poole Potter Powell Pratt "
        "Prescott Preston Proctor Pruitt Quinlan Radcliffe Ramsey Randall Rawlings Raymond Reeves Reilly Reinhardt "
        "Reynolds Rhodes Richter Ridley Riggs Rivera Robbins Roberts Robinson Roche Rodgers Roth Rowland Russo "
        "Ryder Salazar Samuels Sanders Sandoval Santiago Santos Saunders Savage Sawyer Schaefer Schneider Schultz "
        "Schumacher Schwartz Scott Shannon Shelton Shepherd Sheridan Sherwood Silva Simmons Simpson Sinclair Skinner "
        "Slater Snyder Sokolov Sommer Spencer Stafford Stanford Stanton Steele Stein Stephens Stevenson Stokes "
        "Strickland Sullivan Summers Sutherland Sutton Swanson Sweeney Talbot Tate Templeton Thornton Tierney Todd "
        "Townsend Travers Tucker Tyler Valdez Vance Vargas Vasquez Vaughan Vázquez Vogel Wagstaff Walker Wallace "
        "Walsh Walters Warner Warren Washington Waters Watkins Watson Weaver Webb Webster Weiss Wells Wentworth "
        "Westbrook Whitaker Whitfield Whitehead Whitman Wilcox Wilkinson Willoughby Winchester Winslow Winters Wolfe "
        "Woodard Woodward Woolley Worthington Wyatt Yates Yildiz York Zhao Zhou Ziegler Zimmermann Öztürk Åkesson "
        "Łukasiewicz Wiśniewski Dvořák Černý Szabó Kovács Tóth Ionescu Dimitrov Papadopoulos Georgiou Stoyanov "
        "Petrović Jovanović Kovačević Haugen Bakke Dahl Solberg Lindberg Nyström Sjöberg Korhonen Mäkinen Jansen "
        "Bakker Visser Peeters Janssens Bernard Girard Fournier Mercier Rousseau Chevalier Gauthier Bianchi Colombo "
        "Ricci Esposito Conti Greco Ferreira Pereira Oliveira Carvalho Gonçalves Araújo Banerjee Chatterjee Mukherjee "
        "Iyer Reddy Nair Desai Mehta Chaudhary Rahman Siddiqui Malik Haddad Mansour Farouk Abdallah Yamamoto Watanabe "
        "Kobayashi Matsuda Fujimoto Pham Hoang Choi Jung Kang Lim Wong Chan Cheung Lau Liang Huang Lin Eze Nwosu "
        "Afolabi Balogun Mwangi Otieno Dlamini Nkosi"
    ),
    streets=_words(
        "Maple Oak Pine Elm Church Park Main Washington Lincoln Station Mill Victoria Spring Cherry River Sunset Hillside "
        "Chestnut Prospect Walnut Highland Queen Market Chapel Abbey Castle Grange Manor Orchard Garden Canal Bridge"
    ),
    cities=_phrases(
        "Springfield; Riverside; Brighton; Oxford; Denver; Portland; Austin; Leeds; York; Salem; Dayton; Fairview; "
        "Milton; Ashford; Burton; Cambridge; Durham; Lancaster; Newport; Hamburg; Lyon; Porto; Sevilla; Köln; Malmö; "
        "Zürich; Gdansk; Santa Rosa; New Haven; Port Arthur; Cedar Falls; Green Bay; St. Albans; Upper Norwood; Lake "
        "Charles; Fort Wayne; Little Rock; El Paso; East Grinstead; Kings Lynn; Long Eaton; North Platte; Mount "
        "Vernon; Bad Homburg; Abilene; Albany; Amarillo; Anderton; Arlington; Ashby; Aurora; Bakersfield; Bangor; "
        "Barnsley; Basel; Bedford; Bellingham; Bergen; Birmingham; Blackpool; Bloomington; Bolton; Boston; Boulder; "
        "Bradford; Bremen; Bristol; Brookfield; Buffalo; Cardiff; Carlisle; Charleston; Chester; Chicago; Clearwater; "
        "Cleveland; Colchester; Concord; Cork; Coventry; Dallas; Darlington; Derby; Dorchester; Dover; Dublin; "
        "Dundee; Edinburgh; Evanston; Exeter; Fresno; Galway; Geneva; Glasgow; Gloucester; Granada; Greenville; "
        "Guildford; Halifax; Harlow; Hartford; Hastings; Hereford; Houston; Ipswich; Jackson; Kendal; Kingston; "
        "Knoxville; Leicester; Lexington; Limerick; Lincoln; Linz; Liverpool; Lübeck; Madison; Maidstone; Mansfield; "
        "Marburg; Memphis; Middleton; Montrose; Morristown; Nashville; Newark; Newbury; Norwich; Oakland; Odense; "
        "Omaha; Orlando; Padua; Paisley; Pasadena; Perth; Peterborough; Plymouth; Preston; Quebec; Raleigh; Reading; "
        "Redwood City; Richmond; Rochdale; Rochester; Rotterdam; Sacramento; Salisbury; Savannah; Seattle; Sheffield; "
        "Shrewsbury; Stafford; Stamford; Stockton; Sunderland; Swansea; Tampa; Taunton; Toledo; Toronto; Torquay; "
        "Trenton; Truro; Tucson; Turin; Utrecht; Valencia; Wakefield; Waltham; Warrington; Warwick; Wexford; Wichita; "
        "Winchester; Windsor; Woking; Worcester; Würzburg; Yonkers; San Marino; San Pedro; Santa Clara; Port Huron; "
        "Port Louis; Lower Sackville; Upper Darby; New Bedford; Great Falls; West Orange; Mount Pleasant"
    ),
    hospitals=_phrases(
        "St. Mary's Hospital; Mercy Hospital; County General Hospital; Good Samaritan Medical Center; Riverside Clinic; "
        "Memorial Hospital; Royal Infirmary; St. Luke's Medical Center; Children's Hospital; Sacred Heart Hospital; "
        "Lakeside Family Practice; Valley Health Centre; Northside Surgery; Pine Street Medical Group; Hope Hospice; "
        "Oak Park Nursing Home; Sunrise Rehabilitation Center; University Hospital; Bay Area Imaging; Hill House; "
        "Queen Anne Hospital; Trinity Care Home; Park Road Surgery; Community Health Center; Eastside Dialysis Unit"
    ),
    pharmacies=_phrases(
        "City Pharmacy; Main Street Drugs; Walker Chemist; Corner Pharmacy; Lakeside Drug Store; Bell Apothecary"
    ),
    employers=_phrases(
        "Walker Steel; Acme Logistics; Delta Airlines; First National Bank; Brown Brothers; Nordic Foods; Pacific Insurance; "
        "Johnson Construction; City Council; State University; Star Electronics; Green Energy Ltd; Atlas Mutual; Harris & Sons"
    ),
    mail_hosts=_words(
        "example.com example.org example.net mail.test clinic.example hospital.test health.example.org care.example post.test "
        "uni.example.net web.invalid inbox.test practice.example.com"
    ),
    id_masks=(),
    phone_masks=(),
    years=(1990, 2019),
    made_up=0.55,
)

VALIDATION = Pool(
    female=_words("Miriam Rosalie Jutta Clementine Zsófia Winifred Noor Delphine Harriet Parveen"),
    male=_words("Quentin Aurelio Ruben Matthias Benoît Duncan Tariq Lorenz Oswald Emeka"),
    last=_words(
        "Haverstock Bellweather Castellanos Drummond Eszterházy Farnsworth Gruber Hollis Iqbal Jørgensen Kettering "
        "Lombardi Mbeki Nakamura Orlowski Pemberton Quigley Rasmussen Sattar Trevelyan"
    ),
    streets=_words("Juniper Halliwell Bramble Ferndown Cobbler Saddler Windmill Ropewalk"),
    cities=_phrases("Ludbrook; Carrowmore; Eastwick; Neustadt; Port Selwyn; Great Marden; Halden; Vilaverde"),
    hospitals=_phrases(
        "Ludbrook District Hospital; St. Cuthbert's Hospital; Marden Valley Clinic; Selwyn Heart Institute; Halden Medical "
        "Centre; Carrowmore Infirmary; Eastwick Family Surgery"
    ),
    pharmacies=_phrases("Halden Pharmacy; Cobbler Lane Chemist"),
    employers=_phrases("Selwyn Shipyards; Meridian Assurance; Foxglove Textiles; Kettle & Moss"),
    mail_hosts=_words("ludbrook.example halden-medical.test marden.example.org postbox.example.net"),
    id_masks=("M######", "VK-####-##", "## ## ####", "@@#####", "####/##/@"),
    phone_masks=("(472) 555-01##", "01632 9601##", "472.555.01##", "+44 1632 9602##"),
    years=(2020, 2021),
)

GOLD = Pool(
    female=_words(
        "Selma Ottilie Marisol Henrietta Saoirse Thandiwe Rosalind Ximena Birgitta Nadezhda Imogen Zainab Philippa Renée "
        "Cordelia Sunniva Leocadia Annelise Tamsin Wilhelmina Chiamaka Estrella Gwendolyn Maëlle Hyacinth"
    ),
    male=_words(
        "José Torvald Ignatius Caspian Leopold Barnaby Fergus Emmerich Kwabena Alasdair Rupert Cassius Dietrich Lucjan "
        "Matteo Ansel Horatio Jerzy Søren Thaddeus Efraín Gideon Montgomery Idris Vaughn"
    ),
    last=_words(
        "Müller Arkwright Thornbury Quintanilla Oyelaran Vandersloot Penhaligon Marchetti Szymański Ravenscroft Delacroix "
        "Featherstone Bjørnstad Ibáñez Cholmondeley Wetherby Kaczmarek Abernathy Montoya Lundgren O'Halloran McAllister "
        "Hargreaves Tsukamoto Villanueva Ashdown Crabtree Ekwueme Fontaine Grimshaw Holloway Isaksen Jellicoe Kirkbride "
        "Loughlin Maddox Nettleton Oakeshott Pettigrew Rutledge Stavros Thistlewood Underhill Wainwright Yarborough "
        "Zamora Blackthorne-Reyes Dunmore Gallagher Bracewell"
    ),
    streets=_words(
        "Larkspur Tanglewood Cinnabar Quarry Foundry Marigold Wharf Sycamore Blackbird Copperfield Hawthorn Lantern "
        "Meadowsweet Pemberley Harbour Thimble"
    ),
    cities=_phrases(
        "Wexmoor; Alderbrook; Tarrington; Pennfield; Kilbrannan; Osterholt; San Telmo; Brackenridge; Northwold; Fallowby; "
        "Grünwald; Corvane; Lower Heddon; Silverton; Vallorbe; Eskdale; Port Maren; Ambleford"
    ),
    hospitals=_phrases(
        "Wexmoor General Hospital; St. Brannoc's Hospital; Alder Valley Clinic; Tarrington Medical Center; Kilbrannan Royal "
        "Infirmary; Osterholt University Hospital; Brackenridge Cancer Institute; Heddon Lane Surgery; Silverton Community "
        "Hospital; Eskdale Nursing Home; Port Maren Imaging; Corvane Rehabilitation Centre; Fallowby Health Centre; "
        "San Telmo Children's Hospital; Ambleford Hospice"
    ),
    pharmacies=_phrases("Northwold Pharmacy; Gull & Anchor Chemist; Pennfield Apothecary; Eskdale Drugs"),
    employers=_phrases(
        "Harrowgate Freight; Bluebell Insurance; Penn & Darrow; Tarrington Glassworks; Vallorbe Watches; Orrin Mutual; "
        "Kestrel Aviation; Wexmoor Council"
    ),
    mail_hosts=_words(
        "wexmoor.example alder-valley.example tarrington.example.org brannoc.test mailbox.example osterholt.example.net"
    ),
    id_masks=("7######", "WX-######", "###-##-##@", "@##-#####", "485 ### ####", "TM#######", "20-@@-####", "#####-##"),
    # Numbers reserved for fiction: North America 555-01xx, United Kingdom 020 7946 0xxx and 0117 496 0xxx.
    phone_masks=(
        "(318) 555-01##",
        "318-555-01##",
        "020 7946 0###",
        "+44 20 7946 0###",
        "0117 496 0###",
        "+1 729 555 01##",
        "729.555.01##",
    ),
    years=(2022, 2025),
)

SPLITS: Mapping[str, Pool] = {"train": TRAIN, "validation": VALIDATION, "gold": GOLD}

LISTS = (
    "female",
    "male",
    "last",
    "streets",
    "cities",
    "hospitals",
    "pharmacies",
    "employers",
    "mail_hosts",
    "id_masks",
    "phone_masks",
)

RESERVED = frozenset(
    word.casefold()
    for pool in (VALIDATION, GOLD)
    for name in LISTS
    for value in getattr(pool, name)
    for word in [value, *value.replace("-", " ").split()]
)
"""Every value of validation and gold, and each of its words: what training may not make up by accident."""
