"""Templates of the validation notes: what the model and its training are developed on, so that gold stays unseen."""

from __future__ import annotations

from demo_grammar import NoteKind

KINDS: tuple[NoteKind, ...] = (
    NoteKind(
        "clinic letter",
        opening=(
            "{hospital} / {service}\nletter of {date}\npatient {patient}, {street}, {city}, born on {dob}, unit number {id}",
            "To whom it may concern, {date}\nThe bearer, {patient}, aged {age}, is under the care of {doctor}.",
            "DOCTOR'S LETTER\n{PATIENT}\n{dob}\n{id}\nwritten by {doctor} ({email})",
        ),
        body=(
            "It was a pleasure to meet {patient} and {his} {kin} {relative} in my rooms on {date}.",
            "You will remember that {he} suffers from {diagnosis} and was given {drug} {dose} in {month_year}.",
            "{Mr} {patient_last}, a clerk at {employer}, lost no time from work.",
            "Since moving to {city} {he} has been free of {complaint}.",
            "My findings: {finding}; {vitals}; {lab}.",
            "I have booked {procedure} at {clinic} for {date_short}.",
            "Prof. {doctor2_last} kindly discussed the images with me.",
            "The {age}-year-old is keen to avoid {drug}.",
        ),
        closing=("Warmest wishes, {doctor}", "{doctor}\nsecretary: {phone}", "cc {doctor2}, {clinic}, {city}"),
        take=(3, 5),
    ),
    NoteKind(
        "operation note",
        opening=(
            "OPERATION\nOn whom: {patient_formal}\nWhen: {date}\nKnife: {doctor}\nAnaesthetist: {doctor2}\nTheatre no. {id}",
            "Theatre list {date}: {patient}, {age}, {procedure}, surgeon {doctor}",
        ),
        body=(
            "Under general anaesthesia with {drug} {dose} the planned {procedure} was carried out.",
            "We found {finding}.",
            "Blood loss 150 mL, {line} left in place.",
            "Specimen {id} went to pathology at {hospital}.",
            "Afterwards {doctor} spoke with {relative} ({kin}) on {phone}.",
            "{He} goes back to {ward}; {scale}.",
            "Stitches out on {date} by {doctor3} in {city}.",
        ),
        closing=("Author {doctor_initial}", "{doctor2} for {doctor}, {date} {time}", "End of note"),
        take=(3, 5),
    ),
    NoteKind(
        "social work",
        opening=(
            "Social services, conversation held {date}, client {patient} ({id})",
            "{patient}, {age}: housing problem, {date}",
        ),
        body=(
            "{He} rents two rooms at {street} and pays by {date_short} each month.",
            "Landlord {relative} was unkind; we wrote to {email}.",
            "{patient_first} used to drive for {employer} until {his} {diagnosis}.",
            "The home help from {clinic} rang from {phone}.",
            "{Mr} {patient_last} {habit}.",
            "Application {id} sent to the office in {city}.",
            "Dr {doctor_last} wrote a certificate dated {date}.",
        ),
        closing=("{doctor2}, social worker, {phone}", "To be continued with {doctor2_first}.", "Filed {date}"),
        take=(3, 5),
    ),
    NoteKind(
        "ward diary",
        opening=("{ward}, {date}",),
        body=(
            "{time} {Mr} {patient_last}: {vitals}",
            "{time} {doctor} looked in; {drug} {dose} added",
            "{date_short} {procedure}: {finding}",
            "{date_short} {kin} {relative} phoned from {city} ({phone})",
            "{time} {line} checked, {scale}",
            "{date} transfer form {id} faxed to {hospital2}",
            "{date} {lab}; {doctor2} aware",
        ),
        closing=("written by {doctor3}",),
        take=(5, 7),
        rounds=2,
        joiner="\n",
    ),
)
