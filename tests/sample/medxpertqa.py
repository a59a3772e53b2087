"""The MedXpertQA part of the sample: twelve text and twelve figure questions, and what three imagined models say.

The questions are textbook knowledge in our own words; they serve to run software, not to examine anybody.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import medxpertqa_pictures as pictures
import scans
from canvas import jpeg, png
from PIL import Image


class Item(NamedTuple):
    """A question; `why` argues for the right option, `lure` is the option that a hasty reader takes."""

    task: str
    system: str
    kind: str
    stem: str
    options: tuple[str, ...]
    label: str
    why: str
    lure: str
    lure_why: str
    images: tuple[str, ...] = ()
    slip: bool = False


# A table: the formatter would put every field on a line of its own.
# fmt: off
TEXT = [
    Item(
        "Diagnosis",
        "Endocrine",
        "Reasoning",
        "For three months a 34-year-old teacher has felt hot and restless. She has lost five kilograms although she "
        "eats more, her hands tremble and her eyes look wide open. Her pulse is 112 a minute and regular. "
        "Thyrotropin cannot be detected. Which disorder explains all of this?",
        ("Pheochromocytoma", "Graves disease", "Addison disease", "Prolactinoma", "Panic disorder",
         "Hashimoto thyroiditis", "Carcinoid syndrome", "Acromegaly", "Insulinoma", "Celiac disease"),
        "B",
        "Weight loss with appetite, tremor, a fast pulse, lid retraction and a suppressed thyrotropin mean too much "
        "thyroid hormone, and the eyes point to its autoimmune form.",
        "A",
        "Tremor, restlessness and a fast pulse suggest a surge of catecholamines.",
    ),
    Item(
        "Treatment",
        "Cardiovascular",
        "Reasoning",
        "An ambulance brings a 58-year-old driver whose chest has hurt for forty minutes. The tracing shows ST "
        "elevation in the inferior leads, the pressure is 84/50 mmHg, the neck veins are full and the lungs are "
        "clear. Which measure should be avoided while the catheter laboratory gets ready?",
        ("Aspirin", "Oxygen when saturation is low", "Sublingual nitroglycerin", "Heparin", "Intravenous saline",
         "Continuous monitoring", "Ticagrelor", "A right-sided ECG", "Pain relief", "A second intravenous line"),
        "C",
        "Full neck veins with clear lungs and low pressure in an inferior infarction mean that the right ventricle "
        "has failed and lives on its filling; a vasodilator would take that away.",
        "E",
        "Fluid could overload a failing heart.",
    ),
    Item(
        "Basic Science",
        "Nervous",
        "Understanding",
        "Damage to which nerve leaves a person unable to lift the front of the foot, with numb skin on the back of "
        "the foot?",
        ("Femoral", "Obturator", "Tibial", "Common fibular", "Sural", "Saphenous", "Superior gluteal", "Pudendal",
         "Ilioinguinal", "Lateral femoral cutaneous"),
        "D",
        "The muscles that lift the foot lie in front of the shin and are supplied by the branch that winds around "
        "the neck of the fibula.",
        "C",
        "The shin bone carries the muscles of the foot.",
    ),
    Item(
        "Diagnosis",
        "Respiratory",
        "Reasoning",
        "A tall 19-year-old student suddenly feels a stabbing pain on the left side of the chest and runs out of "
        "breath while reading. On that side the breath sounds are faint and the percussion note is hollow. The "
        "windpipe is in the middle and the pressure is normal. What has happened?",
        ("Pulmonary embolism", "Lobar pneumonia", "Pericarditis", "Rib fracture", "Asthma attack", "Aortic dissection",
         "Spontaneous pneumothorax", "Pleural empyema", "Foreign body in a bronchus", "Myocarditis"),
        "G",
        "Faint breath sounds with a hollow note mean air around the lung, and a tall young person without an injury "
        "is typical.",
        "A",
        "Sudden pain and shortness of breath in a young person suggest a clot in the lung.",
        (),
        True,
    ),
    Item(
        "Treatment",
        "Digestive",
        "Reasoning",
        "A 46-year-old cook has burning pain below the breastbone that wakes him at night and eases with food. A "
        "breath test shows that Helicobacter pylori lives in his stomach. He takes no other drugs and has no "
        "allergies. What heals the cause?",
        ("An antacid on demand", "A low-fat diet", "Famotidine at night", "Surgery", "Misoprostol",
         "Sucralfate for a week", "Metoclopramide", "Two antibiotics with a proton pump inhibitor", "Iron tablets",
         "A gluten-free diet"),
        "H",
        "The bacterium keeps the ulcer alive, so it has to be killed while acid is held back.",
        "C",
        "Less acid at night lets the ulcer heal.",
    ),
    Item(
        "Basic Science",
        "Urinary",
        "Understanding",
        "On which part of the nephron does hydrochlorothiazide act?",
        ("Bowman capsule", "Proximal tubule", "Thin descending limb", "Thin ascending limb", "Thick ascending limb",
         "Distal convoluted tubule", "Papillary duct", "Afferent arteriole", "Efferent arteriole", "Macula densa"),
        "F",
        "Thiazides block the carrier of sodium and chloride that sits in the early distal tubule.",
        "E",
        "Diuretics block the carrier in the thick limb.",
    ),
    Item(
        "Diagnosis",
        "Skeletal",
        "Reasoning",
        "Overnight the big toe of a 61-year-old baker has become red, swollen and so tender that the bed sheet "
        "hurts. He had a festive dinner with much beer. Under polarised light, needles with negative birefringence "
        "lie inside white cells of the joint fluid. What is it?",
        ("Pseudogout", "Septic arthritis", "Rheumatoid arthritis", "Reactive arthritis", "Bunion", "Cellulitis",
         "Osteomyelitis", "Stress fracture", "Psoriatic arthritis", "Gout"),
        "J",
        "Needles with negative birefringence are urate crystals.",
        "B",
        "A red hot joint must be taken as infected.",
    ),
    Item(
        "Treatment",
        "Other / NA",
        "Reasoning",
        "Minutes after a wasp sting a 27-year-old gardener has hives, a hoarse voice and wheezing; the pressure is "
        "78/40 mmHg. Which drug must be given first?",
        ("Adrenaline into the thigh muscle", "Cetirizine by mouth", "Prednisolone by vein", "Salbutamol by inhaler",
         "Ranitidine by vein", "Adrenaline into the skin", "Dopamine by vein", "Calcium by vein",
         "Diphenhydramine by mouth", "Aminophylline by vein"),
        "A",
        "Skin, airway and circulation fail together, which is anaphylaxis, and only adrenaline into a muscle acts "
        "fast enough.",
        "C",
        "A steroid calms the allergic reaction.",
    ),
    Item(
        "Basic Science",
        "Muscular",
        "Understanding",
        "Which ion, once it binds to troponin, lets myosin reach the actin filament?",
        ("Sodium", "Potassium", "Magnesium", "Chloride", "Phosphate", "Zinc", "Copper", "Bicarbonate", "Calcium",
         "Iron"),
        "I",
        "Calcium from the sarcoplasmic reticulum binds to troponin and moves tropomyosin aside.",
        "C",
        "Magnesium belongs to the ATP that drives the muscle.",
    ),
    Item(
        "Diagnosis",
        "Lymphatic",
        "Reasoning",
        "A 20-year-old rower has had a sore throat, fever and great tiredness for ten days. Lymph nodes at the back "
        "of the neck are swollen and the tip of the spleen can be felt. After amoxicillin a rash spread over the "
        "body. Which agent is the cause?",
        ("Group A streptococcus", "Adenovirus", "Influenza virus", "Corynebacterium", "Epstein-Barr virus",
         "Rubella virus", "Measles virus", "Bartonella", "Toxoplasma", "Mumps virus"),
        "E",
        "Nodes at the back of the neck, a large spleen and a rash after amoxicillin make up infectious mononucleosis.",
        "A",
        "A sore throat with fever is strep until proven otherwise.",
    ),
    Item(
        "Treatment",
        "Reproductive",
        "Understanding",
        "Which vitamin should be taken before conception to prevent defects of the neural tube?",
        ("Vitamin A", "Thiamine", "Niacin", "Vitamin C", "Vitamin D", "Vitamin E", "Folic acid", "Vitamin K", "Biotin",
         "Riboflavin"),
        "G",
        "The neural tube closes in the fourth week, and it needs folate to do so.",
        "E",
        "Vitamin D is recommended in every pregnancy.",
    ),
    Item(
        "Diagnosis",
        "Integumentary",
        "Reasoning",
        "A 70-year-old farmer has a pearly nodule beside the nose. It has grown for two years, fine vessels run over "
        "it and its centre has broken down. What is the most likely diagnosis?",
        ("Melanoma", "Basal cell carcinoma", "Squamous cell carcinoma", "Actinic keratosis", "Seborrheic keratosis",
         "Keratoacanthoma", "Dermatofibroma", "Rosacea", "Sarcoidosis", "Wart"),
        "B",
        "A pearly border, fine vessels and slow growth in skin that saw much sun are characteristic.",
        "C",
        "A sore that does not heal in an old farmer suggests this.",
        (),
        True,
    ),
]

FIVE = ("A", "B", "C", "D", "E")
FIGURES = [
    Item(
        "Diagnosis",
        "Cardiovascular",
        "Reasoning",
        "A 63-year-old man wakes with heavy pressure behind the breastbone. The strip in the figure was recorded "
        "over the front of the heart. What does it show?",
        ("Atrial fibrillation", "Complete heart block", "ST elevation", "Long QT interval", "Pericardial low voltage"),
        "C",
        "The tracing does not return to the baseline after the main spike but stays above it.",
        "A",
        "Palpitations are common at this age.",
        ("0-a.png",),
    ),
    Item(
        "Treatment",
        "Skeletal",
        "Reasoning",
        "After a fall on the outstretched hand a 68-year-old woman has a swollen wrist. Radiographs from the front "
        "and from the side are shown in Figures A and B. The break is tilted but closed, and the fingers are warm "
        "and can feel. What comes first?",
        ("Amputation", "Closed reduction and a cast", "An elastic bandage only", "Antibiotics by vein",
         "Replacement of the elbow"),
        "B",
        "A closed, tilted break of the lower radius with healthy vessels and nerves is set by hand and held in a "
        "cast.",
        "C",
        "Most wrist injuries are sprains.",
        ("1-a.jpeg", "1-b.jpeg"),
    ),
    Item(
        "Diagnosis",
        "Lymphatic",
        "Understanding",
        "Bone pain after a cold brought a 15-year-old boy to the clinic. His blood smear is shown. Which inherited "
        "disorder does he have?",
        ("Thalassemia minor", "Hereditary spherocytosis", "G6PD deficiency", "Sickle cell disease",
         "Von Willebrand disease"),
        "D",
        "Many red cells are bent into crescents.",
        "A",
        "Thalassemia is the most common one.",
        ("2-a.jpeg",),
    ),
    Item(
        "Diagnosis",
        "Other / NA",
        "Reasoning",
        "A 31-year-old woman has had headaches in the morning and sees dim for seconds when she bends down. The back "
        "of her left eye is shown. What is the reason for this finding?",
        ("Raised pressure in the skull", "A detached retina", "Cataract", "Closed-angle glaucoma", "Color blindness"),
        "A",
        "The border of the disc is blurred and small bleedings surround it, so the disc is swollen.",
        "D",
        "Headache with dim sight suggests glaucoma.",
        ("3-a.jpeg",),
    ),
    Item(
        "Basic Science",
        "Digestive",
        "Understanding",
        "The black curve of the figure belongs to an enzyme without any drug. Which curve does one expect after a "
        "competitive inhibitor is added?",
        ("D", "C", "B", "E", "A"),
        "C",
        "The inhibitor can be outrun by substrate: the same top rate is reached, only later, and that is what curve "
        "B does.",
        "B",
        "An inhibitor lowers the rate, as the red curve shows.",
        ("4-a.png",),
    ),
    Item(
        "Diagnosis",
        "Cardiovascular",
        "Reasoning",
        "Ten days after a mechanical heart valve was put in, a 54-year-old man is pale and his urine is dark. "
        "Haptoglobin is low. Which smear in Figures A through E fits best?",
        ("Figure B", "Figure D", "Figure A", "Figure E", "Figure C"),
        "B",
        "The valve breaks red cells, so fragments as in Figure D are expected.",
        "E",
        "Small dark cells as in Figure C are typical of hemolysis.",
        ("5-a.png", "5-b.png", "5-c.png", "5-d.png", "5-e.png"),
    ),
    Item(
        "Diagnosis",
        "Respiratory",
        "Reasoning",
        "Figure A was recorded from a healthy person. A 66-year-old smoker has coughed every winter for years and "
        "needs a long time to breathe out. Which of the loops in Figures B through F is his?",
        ("Figure D", "Figure F", "Figure C", "Figure B", "Figure E"),
        "E",
        "Breathing out is scooped and slow while breathing in is kept, as in Figure E.",
        "A",
        "Figure D is flat on both sides, so the flow is blocked.",
        ("6-a.png", "6-b.png", "6-c.png", "6-d.png", "6-e.png", "6-f.png"),
        True,
    ),
    Item(
        "Diagnosis",
        "Nervous",
        "Reasoning",
        "A 29-year-old woman lost the sight of one eye for two weeks last year and now has numb legs. T1, T2 and "
        "FLAIR slices of her brain are shown in this order. Which disease is most likely?",
        ("Glioblastoma", "Brain abscess", "Huntington disease", "Multiple sclerosis", "Acute bleeding"),
        "D",
        "Several oval spots stand at right angles to the ventricles, and the complaints are scattered in time and "
        "place.",
        "A",
        "Bright spots in the brain suggest a tumor.",
        ("7-a.jpeg", "7-b.jpeg", "7-c.jpeg"),
    ),
    Item(
        "Basic Science",
        "Cardiovascular",
        "Understanding",
        "In each of Figures A to D the grey loop is a healthy left ventricle and the red one is changed. Which "
        "figure fits a narrowed aortic valve?",
        ("Figure C", "Figure A", "Figure D", "Figure B", "None of them"),
        "B",
        "The ventricle must build up more pressure to eject the same volume, as in Figure A.",
        "D",
        "Figure B shows the larger loop, so the heart works harder.",
        ("8-a.png", "8-b.png", "8-c.png", "8-d.png"),
    ),
    Item(
        "Treatment",
        "Respiratory",
        "Reasoning",
        "A climber of 23 years is short of breath at rest after a sudden pain on the left. The radiograph is shown. "
        "Oxygen saturation falls to 86 percent. What should be done now?",
        ("Antibiotics", "A chest drain on the left", "A chest drain on the right", "A diuretic", "Lung function "
        "tests"),
        "B",
        "A thin line of pleura with nothing but black outside it: air has collapsed the left lung, and the low "
        "saturation calls for a drain on that side.",
        "C",
        "The dark side must be drained, and it is on the right side of the picture.",
        ("9-a.jpeg",),
    ),
    Item(
        "Diagnosis",
        "Urinary",
        "Understanding",
        "Furosemide was given to a man with swollen legs. Which letter of the figure marks the place where it acts?",
        ("B", "E", "A", "C", "D"),
        "D",
        "Loop diuretics act on the thick ascending limb, which the figure marks with C.",
        "E",
        "Diuretics act on the distal tubule, marked D.",
        ("10-a.png",),
        True,
    ),
    Item(
        "Treatment",
        "Integumentary",
        "Reasoning",
        "Nine days after a hike through high grass a 40-year-old woman finds the mark shown on her thigh. She has no "
        "fever and is not pregnant. Which drug should she take?",
        ("Doxycycline", "Acyclovir", "Terbinafine", "Hydrocortisone cream", "Ivermectin"),
        "A",
        "A ring that grows around a bite after a hike is early Lyme disease.",
        "C",
        "A ring-shaped mark is ringworm.",
        ("11-a.jpeg",),
    ),
]

DEV = {
    "Text": Item("Basic Science", "Endocrine", "Understanding", "Which gland makes insulin?",
                 ("Pituitary", "Thyroid", "Pancreas", "Adrenal cortex", "Adrenal medulla", "Thymus", "Pineal gland",
                  "Ovary", "Parathyroid", "Liver"), "C", "", "A", ""),
    "MM": Item("Diagnosis", "Digestive", "Reasoning", "After a rich meal a 45-year-old woman has pain under the "
    "right ribs. An ultrasound picture is shown. What is in the organ?", ("Nothing", "A stone", "A worm", "A "
    "drain", "A pregnancy"), "B", "", "A", "", ("dev-0-a.png",)),
}
# fmt: on


def _member(image: str) -> str:
    *split, number, rest = image.split("-")  # numbers from 9000 on, which the real data does not reach
    return "-".join(("MM", *split, str(9000 + int(number)), rest))


def _row(name: str, item: Item) -> dict[str, Any]:
    options = {chr(65 + i): text for i, text in enumerate(item.options)}
    embedded = " ".join(f"({letter}) {text}" for letter, text in options.items())
    row: dict[str, Any] = {
        "id": name,
        "question": f"{item.stem}\nAnswer Choices: {embedded}",
        "options": options,
        "label": item.label,
    }
    if item.images:
        row["images"] = [_member(image) for image in item.images]
    return {**row, "medical_task": item.task, "body_system": item.system, "question_type": item.kind}


def rows(config: str, split: str) -> list[dict[str, Any]]:
    """The rows of one jsonl file."""
    if split == "dev":
        return [_row(f"{config}-dev-9000", DEV[config])]
    return [_row(f"{config}-{9000 + i}", item) for i, item in enumerate(TEXT if config == "Text" else FIGURES)]


def images() -> dict[str, bytes]:
    """The members of images.zip: name -> bytes."""
    p = pictures
    drawn: dict[str, tuple[Image.Image, int | None]] = {
        "0-a.png": (p.ecg(30, 680, 150), 16),
        "1-a.jpeg": (p.wrist(300, False), None),
        "1-b.jpeg": (p.wrist(300, True), None),
        "2-a.jpeg": (p.smear("sickle", 460), None),
        "3-a.jpeg": (p.fundus(420), None),
        "4-a.png": (p.kinetics(900), None),
        **{
            f"5-{name.lower()}.png": (p.smear(kind, 264, name), 24)
            for name, kind in zip(FIVE, ("sickle", "target", "sphere", "fragment", "blast"), strict=True)
        },
        **{
            f"6-{name.lower()}.png": (p.loop(kind, 260, name), 12)
            for name, kind in zip(
                "ABCDEF", ("normal", "intake", "restricted", "fixed", "obstructed", "outlet"), strict=True
            )
        },
        "7-a.jpeg": (p_axial("T1"), None),
        "7-b.jpeg": (p_axial("T2"), None),
        "7-c.jpeg": (p_axial("FLAIR"), None),
        **{
            f"8-{name.lower()}.png": (p.pressure_volume(kind, 300, name), 12)
            for name, kind in zip("ABCD", ("stenosis", "leak", "stiff", "weak"), strict=True)
        },
        "9-a.jpeg": (scans.chest_xray(440, 460, pneumothorax=True, seed=41), None),
        "10-a.png": (p.nephron(2400), 24),
        "11-a.jpeg": (p.rash(96), None),
        "dev-0-a.png": (p.gallbladder(240), None),
    }
    out = {}
    for name, (image, colours) in drawn.items():
        out["images/" + _member(name)] = jpeg(image, 74) if name.endswith("jpeg") else png(image, colours)
    return out


def p_axial(weighting: str) -> Image.Image:
    """One of three slices of the same brain."""
    return scans.brain_axial(240, weighting=weighting, plaques=True, seed=40)


def _messy(item: Item, letter: str, turn: int) -> str:
    text = item.options[ord(letter) - 65]
    why = item.why if letter == item.label else item.lure_why
    forms = [
        f"{why} That leaves option ({letter.lower()}) as the best answer, so the answer is ({letter.lower()}).",
        f"{why}\n\n**The correct answer is {letter}: {text}**\n\nNB: This is no medical advice. I hope this helps!",
        f"{why}\n<answer>{letter}</answer>\nPlease consult a physician. AI can err.",
        f"{why}\n\n$\\boxed{{{letter}}}$\n\nDone. OK?",
        f"Answer：{letter}\n\n解释: {why} Q.E.D. Yours, Assistant XY",
        f'{{"reasoning": "{why}", "answer": "{letter.lower()}"}}',
        f"{why}\n\nFinal answer is **{letter.lower()}** ({text.lower()}).",
    ]
    if len(text) > 3 and not text.startswith("Figure"):
        forms.append(f"{why}\n\nThe answer is {text.lower()}.")
    if item.slip and item.images:  # torn between two options
        return f"It is either ({item.label}) or ({item.lure}). The picture alone does not decide it, OK?"
    if turn == 7:  # for once in the asked form
        return f"{why}\n\nANSWER: {letter}"
    return forms[turn % len(forms)]


def replies() -> dict[str, dict[str, list[str]]]:
    """Model -> leaf task -> replies in the order of the leaf's rows."""
    out: dict[str, dict[str, list[str]]] = {"careful": {}, "prior": {}, "messy": {}}
    for task, items in (("medxpertqa_text", TEXT), ("medxpertqa_mm", FIGURES)):
        said: dict[str, list[str]] = {model: [] for model in out}
        for turn, item in enumerate(items):
            seen = item.lure if item.slip else item.label
            guess = item.label if turn % 4 == 2 else item.lure
            why = {item.label: item.why, item.lure: item.lure_why}
            said["careful"].append(f"{why[seen]}\n\nANSWER: {seen}")
            said["prior"].append(f"{why[guess]}\n\nANSWER: {guess}")
            said["messy"].append(_messy(item, seen, turn))
        for model, lines in said.items():
            out[model][task] = lines
    return out


def two_turns() -> dict[str, list[list[str]]]:
    """The careful model under the authors' protocol: the rationale, then the letter."""
    out: dict[str, list[list[str]]] = {}
    for task, items in (("medxpertqa_official_text", TEXT), ("medxpertqa_official_mm", FIGURES)):
        out[task] = []
        for item in items:
            letter, why = (item.lure, item.lure_why) if item.slip else (item.label, item.why)
            out[task].append([f"{why} So the right option is {item.options[ord(letter) - 65]}.", f"{letter}."])
    return out
