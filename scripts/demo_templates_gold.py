"""Templates of the gold notes. Written once, apart from those of training and validation; nothing is tuned on them.

A note kind is an opening, a body of sentences or entries, and a closing. `{slot}` is a value, `[a|b]` a choice; the
grammar is in demo_notes.py. `rounds` > 1 runs through the body several times, for notes of several windows.
"""

from __future__ import annotations

from demo_grammar import NoteKind

KINDS: tuple[NoteKind, ...] = (
    NoteKind(
        "discharge summary",
        opening=(
            "DISCHARGE SUMMARY\nName of patient: {patient_formal}     Hospital number: {id}\nBorn: {dob}\n"
            "In: {date}   Out: {date}\nTreating physician: {doctor}, MD",
            "{hospital}\nSummary of stay\n{PATIENT_FORMAL} ({id})\nStay from {date} until {date}\nResponsible consultant: Dr "
            "{doctor}",
        ),
        body=(
            "This {age}-year-old {man} arrived in our emergency room with {complaint} that had lasted {duration}.",
            "{Mr} {patient_last} carries a diagnosis of {diagnosis}, for which Dr. {doctor2_last} had started {drug} {dose}.",
            "On arrival {vitals}; {lab} and {lab}.",
            "Imaging ({imaging}) done on {date} revealed {finding}.",
            "Our {service} colleague {doctor2} saw {him} the next morning and suggested {drug} {dose}.",
            "{He} was then moved from {hospital2} for further care under Dr. {doctor_last}.",
            "{His} {kin}, {relative}, was told of the plan over the telephone ({phone}).",
            "The course was complicated by {diagnosis}, which settled with {drug}.",
            "{Mr} {patient_last} left in good condition on {date} and went back to {his} flat in {city}.",
        ),
        closing=(
            "Check-up: {doctor2}, {clinic}, {date}, {time}. For questions ring {phone}.",
            "Next visit {date} with Dr. {doctor_last} at {clinic}; results go to {email}.",
            "Signed electronically, {doctor}, {date}",
        ),
        take=(3, 5),
    ),
    NoteKind(
        "radiology report",
        opening=(
            "RADIOLOGY\nExamination: {imaging}\nPerformed: {date}   Order number {id}\nSubject: {PATIENT}, age {age}",
            "{hospital}, Department of Imaging\nExam no. {id}\nFor: {patient_formal}, born {dob}\nAsked for by: {doctor}",
        ),
        body=(
            "Indication: {complaint}; known {diagnosis}.",
            "Compared with the earlier study of {date}, there is {finding}.",
            "Technique: 5 mm slices, 80 mL Omnipaque 350, 120 kVp.",
            "There is also {finding}.",
            "No sign of Pott's disease or a Pancoast tumour.",
            "The images from {hospital2} dated {date} were not at hand.",
            "Conclusion: {finding}, in keeping with {diagnosis}.",
            "Dr. {doctor_last} was called with this result at {time} on {date}.",
        ),
        closing=(
            "Read by {doctor2}, MD",
            "Reported: {doctor2}, {date}",
            "Verified by {doctor2_initial} at {time}. Query? Dial {phone}.",
        ),
        take=(3, 5),
    ),
    NoteKind(
        "nursing note",
        opening=(
            "Night shift, {date}, {ward}.",
            "Nurse's entry {date} {time}\nResident: {patient} / {age} y",
            "{date}  Care record of {patient}, file {id}",
        ),
        body=(
            "{Mr} {patient_last} slept until {time}, then complained of {complaint}; {drug} {dose} with good effect.",
            "Observations: {vitals}.",
            "{relative}, the {kin}, came to sit with {him} in the afternoon and asked to speak to Dr. {doctor_last}.",
            "{line} in place, site dry; {scale}.",
            "{doctor} informed of {lab}.",
            "Reminded that {his} {kin} {relative_first} can be reached under {phone}.",
            "Ate half of lunch, drank 600 mL, passed urine 3 times.",
            "{He} misses home in {city} and became tearful.",
        ),
        closing=("{doctor2}, RN", "Handed over to {doctor2} at {time}.", "{doctor2_initial}, staff nurse, {ward}"),
        take=(2, 5),
    ),
    NoteKind(
        "referral letter",
        opening=(
            "{clinic}\n{street}, {city}\nPractice line {phone}\n\n{date}\n\nDear Dr {doctor2_last}, re {patient}, {street}, {city}. Born "
            "{dob}. NHS {id}",
            "From: {doctor}, {clinic}, {city}\nTo: {doctor2}, {hospital}\nConcerning: {patient_formal}, date of birth {dob}",
        ),
        body=(
            "I would be grateful for your opinion on this {age} year old {man}, who works for {employer} and has had "
            "{complaint} for {duration}.",
            "{His} past history includes {diagnosis} and {diagnosis}.",
            "{He} takes {drug} {dose} and {drug} {dose}; {he} {habit}.",
            "Examination showed {exam}, {vitals}.",
            "I saw {him} last on {date}, with {lab}.",
            "Dr {doctor3_last} at {hospital2} did {imaging} in {month_year}.",
            "{Mr} {patient_last} would rather be seen close to {city}, where {his} {kin} lives.",
        ),
        closing=(
            "Yours sincerely,\n{doctor}",
            "With kind regards\n\n{doctor}\n{email}",
            "Thank you for seeing {him} so soon. You can write to me under {email} or ring {phone}.\n{doctor}",
        ),
        take=(3, 5),
    ),
    NoteKind(
        "progress note",
        opening=(
            "{date}, {service} round with {doctor}",
            "Hospital day 3 – {date}\n{patient}, {age}{sex}, record {id}",
            "Follow-up visit {date}. {Mr} {patient}.",
        ),
        body=(
            "Feels better, {complaint} is gone. {vitals}.",
            "Today's bloods: {lab}, {lab}.",
            "{Mr} {patient_last} still needs {drug} {dose}.",
            "A: {diagnosis}, day 4 of {drug}.",
            "Asked {doctor2} of {service} to look at {him} before {date_short}.",
            "P: {procedure} on {date_short}, stop {drug}, physiotherapy with {doctor3_first}.",
            "{He} wants {his} {kin} {relative} kept up to date, mobile {phone}.",
            "If stable, back to {hospital2} by {date}.",
        ),
        closing=("{doctor}", "– {doctor_initial}, pager 4471", "Dictated by {doctor}, typed {date}"),
        take=(3, 5),
    ),
    NoteKind(
        "emergency department note",
        opening=(
            "ED RECORD {id}\n{PATIENT}, {age} yrs, came by ambulance at {time} on {date}",
            "Seen in the emergency room of {hospital} on {date} by {doctor}.",
        ),
        body=(
            "{patient} slipped on the stairs at {street}, {city}, and now has {complaint}.",
            "Medication list from {pharmacy}: {drug} {dose}, {drug} {dose}.",
            "{vitals}, then {scale}.",
            "Contact in an emergency: {relative} ({kin}), {phone}.",
            "Health cover: {employer}, policy {id}.",
            "{imaging} without delay: {finding}.",
            "Dr. {doctor2_last} from {service} accepted {him} at {time}.",
        ),
        closing=(
            "{doctor}, emergency physician",
            "Sent home with {his} {kin}, control on {date} at {clinic}.",
            "{doctor_initial} {time}",
        ),
        take=(3, 4),
    ),
    NoteKind(
        "telephone note",
        opening=(
            "Call from {relative}, {kin} of {patient}, on {date} at {time}.",
            "{date} {time}, phone message taken by {doctor2}",
        ),
        body=(
            "{He} ran out of {drug} and wants a new prescription sent to {pharmacy}.",
            "Please call back before {date_short}: {phone}.",
            "{patient_first} has had {complaint} since {date_short}.",
            "Told to go to {hospital} if it gets worse.",
            "Lab form mailed to {email}; specimen label {id}.",
            "No answer under {phone}, message left.",
        ),
        closing=("{doctor2}", "Passed on to Dr. {doctor_last}.", "Closed on {date}, {doctor2_initial}"),
        take=(2, 4),
    ),
    NoteKind(
        "teaching note",
        opening=("Journal club, {service}.", "Protocol reminder for {ward}.", "Teaching session on {diagnosis}."),
        body=(
            "Lynch, Kartagener and Peutz-Jeghers syndromes were compared; none was present.",
            "Start {drug} {dose}; recheck {lab} after {duration}.",
            "The Trendelenburg position and the Valsalva manoeuvre were shown.",
            "Aim for {vitals}.",
            "{scale} is reported with every transfer; {line} care every 8 hours.",
            "A Billroth II needs other follow-up than a Heller myotomy.",
            "Give 1 L Ringer's lactate over 4 h, then 125 mL/h.",
        ),
        closing=("No further comments.", "Next topic: {procedure}.", "Slides are on the intranet."),
        take=(3, 4),
    ),
    NoteKind(
        "long record",
        opening=(
            "LONG-STAY RECORD\nResident {patient_formal}, born {dob}, home address {street}, {city}\nFile {id}, {hospital}\nNext of kin "
            "{relative} ({kin}), {phone}, {email}",
        ),
        body=(
            "{date}: {Mr} {patient_last} reviewed by {doctor}; {complaint} for {duration}, {vitals}.",
            "{date}: {lab}, {lab}; {drug} raised to {dose}.",
            "{date}: taken to {hospital2} for {imaging}; shows {finding}.",
            "{date}: visit of {relative}, who brought papers of {employer} (claim {id}).",
            "{date}: {scale}, {line} changed by {doctor2}.",
            "{date}: telephone talk with Dr. {doctor3_last} in {city}, number {phone}: continue {drug} {dose}.",
            "{date}: slept well, no complaints; {he} {habit}.",
            "{date}: family meeting, present {relative_first}, {doctor} and the social worker {doctor2}; wish to move to {clinic}.",
            "{date}: dietitian: 1800 kcal, 70 g protein, fluid 1.5 L; allergy: {allergy}.",
        ),
        closing=("Record closed {date}. {doctor}, {hospital}", "Copy to {clinic} ({email}). {doctor2}, {date}"),
        take=(7, 9),
        rounds=3,
        joiner="\n",
    ),
)
