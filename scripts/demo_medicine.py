"""Clinical words of the demo that are no PHI: what a tagger must leave alone, eponyms, doses and measurements included.

The same for all splits, since a language's medical words are no secret; training also sees made-up drug names.
"""

from __future__ import annotations

from random import Random

WORDS: dict[str, tuple[str, ...]] = {
    name: tuple(phrase.strip() for phrase in text.split(";"))
    for name, text in {
        "complaint": "chest pain; shortness of breath; abdominal pain; a productive cough; dizziness; a severe headache; back "
        "pain; nausea and vomiting; palpitations; fever and chills; leg swelling; blurred vision; joint "
        "stiffness; weight loss; a rash; numbness in the left arm; difficulty swallowing; fatigue; a swollen knee",
        "diagnosis": "pneumonia; heart failure; type 2 diabetes; Crohn's disease; Parkinson's disease; atrial fibrillation; "
        "COPD; Hodgkin lymphoma; deep vein thrombosis; acute appendicitis; Graves disease; hypertension; Alzheimer's disease; "
        "pyelonephritis; Guillain-Barré syndrome; asthma; iron deficiency anemia; Bell's palsy; osteoarthritis; cellulitis; "
        "Addison's disease; Sjögren syndrome; Hashimoto thyroiditis; gout; breast cancer; epilepsy; Barrett's esophagus; "
        "Raynaud phenomenon; chronic kidney disease; a hip fracture; Cushing's syndrome; Kawasaki disease; Wilson disease; "
        "Huntington's disease; Paget disease of bone; Ménière's disease; a Colles fracture; Marfan syndrome; stroke",
        "procedure": "chest X-ray; CT of the abdomen; coronary angiography; appendectomy; colonoscopy; echocardiogram; MRI of the "
        "brain; total hip replacement; lumbar puncture; Doppler ultrasound; bronchoscopy; cataract surgery; Whipple procedure; "
        "Holter monitoring; PET-CT; knee arthroscopy; Roux-en-Y gastric bypass; Nissen fundoplication; renal biopsy; EEG; "
        "Hartmann's procedure; cholecystectomy; a Swan-Ganz catheterisation; thyroidectomy; Mohs surgery",
        "imaging": "chest X-ray; CT of the abdomen; MRI of the brain; Doppler ultrasound; echocardiography; PET-CT; CT of the chest; "
        "MRI of the lumbar spine; ultrasound of the neck; plain films of the left hip; CT angiography; mammography",
        "line": "Foley catheter; Hickman line; Peripheral cannula; PICC line; Jackson-Pratt drain; NG tube; Port-a-Cath; Redon drain",
        "finding": "a 4 mm nodule in the right upper lobe; no acute intracranial abnormality; mild cardiomegaly; a small left "
        "pleural effusion; a 2.3 x 1.8 cm mass; degenerative changes at L4-L5; no evidence of fracture; clear lung fields; "
        "gallstones without wall thickening; a 12 mm cyst in segment VI; an ejection fraction of 45%; a Baker cyst; "
        "moderate stenosis of 50-60%; a T2 hyperintense lesion; Kerley B lines; a Schatzki ring; a Bochdalek hernia",
        "exam": "bibasal crackles; sinus rhythm at 72/min; diffuse tenderness; a grade 2/6 systolic murmur; Heberden nodes; reduced "
        "reflexes; a positive Babinski response; pitting edema; Dupuytren contracture; a soft abdomen; Cheyne-Stokes breathing",
        "lab": "hemoglobin 11.2 g/dL; sodium 138 mmol/L; creatinine 1.4 mg/dL; WBC 12.3; CRP 48 mg/L; HbA1c 7.8%; troponin 0.04 "
        "ng/mL; INR 2.4; platelets 210 x 10^9/L; potassium 4.1; glucose 186 mg/dL; TSH 3.2 mIU/L; BNP 640 pg/mL; lactate 1.9; "
        "albumin 3.4; ferritin 12 ng/mL; eGFR 58; ALT 34 U/L; D-dimer 0.8; ESR 32 mm/h; urine 1+ protein; pH 7.38",
        "scale": "Glasgow Coma Scale 15; Braden score 18; Apgar scores 8 and 9; NYHA class II; a Wells score of 3; ASA class 3; pain "
        "4/10; Karnofsky 80; MMSE 26/30; Barthel index 85; Ranson score 2; Child-Pugh B; Gleason 3+4; an ECOG of 1; NIHSS 4; "
        "Norton 14; Waterlow 12; CURB-65 2; Bishop score 6; Mallampati II",
        "device": "Foley catheter; Hickman line; peripheral cannula in the left forearm; Zimmer frame; nasal cannula; PICC line; "
        "Jackson-Pratt drain; Thomas splint; NG tube; Bair Hugger; Holter monitor; Yankauer suction; Port-a-Cath; wheelchair",
        "ward": "ward 4; Ward 7B; the ICU; bed 12; room 214; the emergency department; Bay 3; the step-down unit; clinic 6; theatre 2",
        "time": "08:15; 14:30; 2300; 6 am; 7:45 pm; noon; 03:20 hrs; 16:05; midnight; 10:00",
        "duration": "3 days; two weeks; 6 months; several weeks; the past 48 hours; 5-7 days; one month; 12 weeks; 24 hours; 4 weeks",
        "habit": "denies tobacco use; has a 20 pack-year history; drinks two units a week; quit smoking 8 years ago; "
        "walks 30 minutes a day; has never smoked; uses a stick outdoors; sleeps 5 hours a night",
        "allergy": "penicillin; sulfa; latex; no known drug allergies; peanuts; iodine contrast; codeine; Bactrim",
        "service": "cardiology; neurology; general surgery; internal medicine; oncology; orthopaedics; geriatrics; nephrology; "
        "gastroenterology; rheumatology; paediatrics; dermatology; Respiratory Medicine; Endocrinology; Urology; ENT",
    }.items()
}

DOSES: dict[str, tuple[str, ...]] = {
    drug: tuple(doses.split("; "))
    for drug, doses in {
        "metformin": "500 mg twice daily; 850 mg bid", "lisinopril": "5 mg daily; 20 mg once daily",
        "Lipitor": "40 mg at night; 20 mg once daily", "amoxicillin": "500 mg tid; 250 mg/5 mL three times daily",
        "warfarin": "2.5 mg; 5 mg in the evening", "Eliquis": "5 mg bid; 2.5 mg twice daily", "furosemide": "40 mg IV; 20 mg po",
        "prednisone": "40 mg daily; 7.5 mg each morning", "Keppra": "500 mg bid; 1000 mg q12h", "omeprazole": "20 mg once daily",
        "Humira": "40 mg every 2 weeks", "levothyroxine": "75 mcg daily; 0.1 mg daily", "Ventolin": "2 puffs as needed",
        "insulin glargine": "10 units at bedtime; 24 units nightly", "aspirin": "81 mg daily; 100 mg/day", "Tylenol": "650 mg q6h prn",
        "morphine": "2.5 mg IV; 10 mg every 4-6 hours", "Zofran": "4 mg IV; 8 mg prn", "gabapentin": "300 mg tid; 100 mg nightly",
        "Plavix": "75 mg daily", "metoprolol": "25 mg po bid; 12.5 mg twice daily", "Augmentin": "875/125 mg bid; 1.2 g IV",
        "sertraline": "50 mg daily", "Xarelto": "20 mg with dinner; 15 mg daily", "amlodipine": "5 mg; 10 mg daily",
        "Lasix": "40 mg IV; 20 mg bid", "heparin": "5000 units sc", "vancomycin": "1 g every 12 hours", "Remicade": "5 mg/kg",
        "levodopa": "100 mg tid", "Synthroid": "50 mcg daily", "tramadol": "50 mg prn", "ibuprofen": "400 mg tid; 600 mg q8h",
        "Entresto": "49/51 mg bid", "Lantus": "18 units at bedtime", "methotrexate": "7.5 mg weekly; 15 mg once a week",
        "ceftriaxone": "1 g every 24 hours; 2 g IV", "digoxin": "0.125 mg daily", "Seroquel": "25 mg nightly",
        "allopurinol": "300 mg daily", "Flomax": "0.4 mg at bedtime",
    }.items()
}  # fmt: skip
DRUGS = tuple(DOSES)
ANY_DOSE = tuple(sorted({dose for doses in DOSES.values() for dose in doses}))

_DRUG_ENDS = ("pril", "statin", "mab", "olol", "zole", "cillin", "ine", "ide", "xaban", "tin", "fen", "ra", "zac", "via", "ol")
_PARTS = (
    "ba",
    "ce",
    "dro",
    "fe",
    "glu",
    "ka",
    "lo",
    "mi",
    "ne",
    "ox",
    "pra",
    "que",
    "ri",
    "sul",
    "ta",
    "ve",
    "xi",
    "zo",
    "ben",
    "cor",
    "dal",
    "lan",
    "mor",
    "per",
    "ser",
    "tri",
    "vel",
)
_EPONYM_TAILS = ("'s disease", " syndrome", "'s sign", " fracture", "'s test", " procedure", " score", " catheter", " reflex")


def made_up_drug(rng: Random) -> str:
    name = "".join(rng.choice(_PARTS) for _ in range(rng.choice((1, 2)))) + rng.choice(_DRUG_ENDS)
    return name.capitalize() if rng.random() < 0.5 else name


def made_up_eponym(surname: str, rng: Random) -> str:
    """A disease or sign called after a person who is not in the note: no PHI."""
    return surname + rng.choice(_EPONYM_TAILS)


def number(rng: Random) -> str:
    """A count, range, ratio, size, level or time of day as notes are full of."""
    small, more, large = rng.randrange(1, 13), rng.randrange(2, 60), rng.randrange(10, 1500)
    forms = (
        str(small), str(more), str(large), f"{small}.{rng.randrange(10)}", f"{small}/{rng.choice((5, 10, 12, 15, 30))}",
        f"{small}-{small + rng.randrange(1, 4)}", f"{more}%", f"x{small}", f"q{small}h", f"{large} mL", f"{more} mm", f"#{small}",
        f"{rng.choice('CTLS')}{small}-{small + 1}", f"{rng.choice('ABCDG')}{small}", f"{rng.randrange(24):02}:{rng.randrange(60):02}",
        f"{rng.randrange(24):02}{rng.randrange(0, 60, 5):02}", f"{small} {rng.choice(('am', 'pm', 'kg', 'cm', 'days', 'weeks', 'hours'))}",
        f"{small}.{small} x {small}.{rng.randrange(10)} cm", f"{small}{rng.choice('ABC')}", f"{rng.choice(('I', 'II', 'III', 'IV'))}",
        f"{small}+{rng.randrange(1, 5)}", f"{more}/{large}", f"({small})", f"+{small}",
    )  # fmt: skip
    return rng.choice(forms)


def vitals(rng: Random) -> str:
    """Blood pressure, pulse and the rest in one of the usual spellings; looks like dates and phone numbers, is neither."""
    pressure = f"{rng.randrange(95, 180)}/{rng.randrange(50, 105)}"
    pulse, breaths, oxygen = rng.randrange(52, 125), rng.randrange(11, 28), rng.randrange(88, 101)
    celsius = f"{rng.randrange(358, 396) / 10:.1f}"
    return rng.choice(
        (
            f"BP {pressure}, HR {pulse}, RR {breaths}, SpO2 {oxygen}% on room air",
            f"blood pressure {pressure} mmHg, pulse {pulse}",
            f"T {celsius} °C, P {pulse}, BP {pressure}",
            f"BP {pressure} mmHg, pulse {pulse} bpm, temperature {celsius}°C",
            f"RR {breaths}, sats {oxygen}%, HR {pulse}",
            f"weight {rng.randrange(45, 120)} kg, height {rng.randrange(148, 195)} cm, BP {pressure}",
        )
    )
