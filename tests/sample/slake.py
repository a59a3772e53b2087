"""The SLAKE part of the sample: twelve drawn scans, forty-eight questions, and what three imagined models say."""

from __future__ import annotations

from typing import NamedTuple

import scans
from canvas import jpeg
from PIL import Image


class Question(NamedTuple):
    """A question with its reference and the answers of the imagined models; `slip` is a careful model's mistake."""

    image: int
    content: str
    kind: str
    question: str
    answer: str
    prior: str
    messy: str
    slip: str | None = None
    triple: tuple[str, str, str] = ("vhead", "_", "_")


# image number: modality, location
SCANS = {
    901: ("X-Ray", "Lung"),
    902: ("X-Ray", "Lung"),
    903: ("X-Ray", "Lung"),
    904: ("MRI", "Brain"),
    905: ("MRI", "Brain_Tissue"),
    906: ("MRI", "Brain"),
    907: ("MRI", "Brain_Face"),
    908: ("CT", "Abdomen"),
    909: ("CT", "Abdomen"),
    910: ("CT", "Chest_lung"),
    911: ("CT", "Pelvic Cavity"),
    912: ("CT", "Neck"),
}

# A table: the formatter would put every field on a line of its own.
# fmt: off
ENGLISH = [
    Question(901, "Modality", "OPEN", "Name the imaging technique behind this picture.", "X-Ray", "X-Ray",
             "The answer is **X-ray**."),
    Question(901, "Organ", "CLOSED", "Can the heart be seen in this scan?", "Yes", "Yes",
             "Yes, the heart is the bright shape in the middle of the chest."),
    Question(902, "Abnormality", "OPEN", "What finding does the cloudy area suggest?", "Pneumonia", "Lung Cancer",
             "The answer is pneumonia."),
    Question(902, "Position", "CLOSED", "On which side of the picture does the cloudy area lie, left or right?", "Left",
             "Right", "**Right**", "Right"),
    Question(902, "KG", "OPEN", "Through which body system does air reach the organ that is ill here?",
             "Respiratory System", "Respiratory System", "<answer>respiratory system</answer>", None,
             ("Lung", "belongs to", "ktail")),
    Question(903, "Abnormality", "CLOSED", "Is the heart shadow of normal width?", "No", "Yes",
             "No. The heart shadow takes up more than half of the chest."),
    Question(903, "Size", "OPEN", "Which organ looks enlarged here?", "Heart", "Lung", "ANSWER: The heart"),
    Question(903, "Quantity", "OPEN", "Count the lungs that this film shows.", "2", "2", "Answer: 2 lungs"),
    Question(904, "Modality", "OPEN", "Which MR weighting makes the fluid this dark?", "T1", "T2",
             "This is a T1-weighted image."),
    Question(904, "Plane", "OPEN", "In which plane was the head cut for this slice?", "Transverse Plane",
             "Transverse Plane", "The answer is the transverse plane."),
    Question(904, "Abnormality", "CLOSED", "Do you see a mass in this brain?", "No", "Yes",
             "No, I do not see any mass in this brain."),
    Question(905, "Color", "OPEN", "In which tone does the swelling appear?", "White", "Gray",
             "<answer>white</answer>"),
    Question(905, "Position", "OPEN", "Where in the brain is the bright spot?", "Left Frontal Lobe",
             "Right Temporal Lobe", "The answer is the left parietal lobe.", "Left Parietal Lobe"),
    Question(906, "Plane", "CLOSED", "Was this head cut in the coronal direction?", "Yes", "No",
             "Yes - both temporal lobes and the brain stem are in one slice."),
    Question(906, "Organ", "CLOSED", "Can a kidney be seen in this scan?", "No", "No", "no, only the head is shown"),
    Question(907, "Shape", "OPEN", "What shape has the corpus callosum in this slice?", "Arched", "Round",
             "\\boxed{Round}", "Round"),
    Question(908, "Organ", "OPEN", "Which organ fills the left half of the picture?", "Liver", "Liver",
             '{"answer": "Liver"}'),
    Question(908, "Size", "CLOSED", "Which takes up more room here, the liver or the spleen?", "Liver", "Liver",
             "The answer is the liver."),
    Question(908, "Quantity", "CLOSED", "Are both kidneys in the picture?", "Yes", "Yes",
             "Yes, one kidney on each side of the spine."),
    Question(909, "Quantity", "OPEN", "Count the kidneys that this slice shows.", "1", "2", "\\boxed{\\text{one}}"),
    Question(909, "Color", "CLOSED", "Is the spot in the liver darker or brighter than its surroundings?", "Darker",
             "Brighter", "ANSWER: Darker"),
    Question(910, "Abnormality", "OPEN", "What is the star-shaped lump in the lung most likely?", "Lung Cancer",
             "Pneumonia", "I am sorry, but I cannot give a diagnosis.", "Tuberculosis"),
    Question(911, "Organ", "OPEN", "Which hollow organ lies in front of the rectum here?", "Bladder", "Uterus",
             "The answer is: bladder"),
    Question(912, "KG", "CLOSED", "Does air pass through the black opening when one breathes?", "Yes", "Yes",
             "Yes, it is the airway.", None, ("Larynx", "effect", "ktail")),
]

CHINESE = [
    Question(901, "Modality", "CLOSED", "这幅图是用X光拍摄得到的吗?", "是的", "是的", "是的，这是一张胸部X光片。"),
    Question(901, "Position", "OPEN", "这幅图拍的是人体的哪一部位?", "胸部", "胸部", "答案是胸部。"),
    Question(901, "Color", "OPEN", "健康的肺在这张片子上呈什么颜色?", "黑色", "白色", "答案：黑色"),
    Question(902, "Abnormality", "CLOSED", "这张片子里的肺部看起来健康吗?", "不健康", "健康", "不健康，右肺有阴影。"),
    Question(902, "KG", "OPEN", "发生病变的这个器官归哪个系统管?", "呼吸系统", "呼吸系统",
             "<answer>呼吸系统</answer>", None,
             ("肺", "属于", "ktail")),
    Question(903, "Size", "CLOSED", "心影的宽度是否超过了胸廓的一半?", "是", "否", "是，心影明显增大。"),
    Question(903, "Abnormality", "OPEN", "心影增宽提示什么疾病?", "心脏肥大", "肺炎", "答案：**胸腔积液**", "胸腔积液"),
    Question(904, "Plane", "OPEN", "这一层面属于哪种切面?", "横断面", "冠状面", "答案：横断面"),
    Question(904, "Modality", "OPEN", "脑脊液发黑,说明用的是哪种加权?", "T1", "T2", "这是T1加权像。"),
    Question(904, "Organ", "CLOSED", "这一层里能看到心脏吗?", "不能", "不能", "不能，图中只有头部。"),
    Question(905, "Abnormality", "CLOSED", "脑内有没有占位性病变?", "有", "没有", "有，左侧额叶可见占位。"),
    Question(905, "Position", "CLOSED", "亮斑在画面的左边还是右边?", "右边", "左边", "左边，靠近颅骨。", "左边"),
    Question(906, "Plane", "CLOSED", "这一层是沿冠状方向切的吗?", "是的", "不是", "是的，这是冠状面。"),
    Question(907, "Organ", "OPEN", "画面下方正中的条状结构是什么?", "脊髓", "气管", "答案：脊髓"),
    Question(907, "Shape", "OPEN", "胼胝体在这一层里是什么形状?", "弓形", "圆形", "胼胝体的形状是弓形。"),
    Question(908, "Organ", "OPEN", "占据画面左半边的是哪个脏器?", "肝脏", "肝脏", "答案是：**肝脏**"),
    Question(908, "Organ", "CLOSED", "这一层里包括脾脏吗?", "包括", "不包括", "包括，脾脏在画面右侧。"),
    Question(908, "Quantity", "OPEN", "这一层能数出几个肾?", "2", "2", "答案：2个"),
    Question(909, "Quantity", "OPEN", "肝内的暗斑有几处?", "1", "2", "ANSWER: 1"),
    Question(909, "Size", "CLOSED", "肝内暗斑与左边的肾相比,哪个更大?", "肾", "暗斑", "肾或者暗斑，看不清楚。", "暗斑"),
    Question(910, "Abnormality", "OPEN", "肺里的星状肿块最可能是什么?", "肺癌", "肺结核", "最可能的答案是肺癌。"),
    Question(910, "KG", "OPEN", "怎样做可以降低得这种病的风险?", "戒烟, 定期体检", "多喝水", "答案：戒烟", "戒烟",
             ("肺癌", "预防", "ktail")),
    Question(911, "Organ", "OPEN", "直肠前方的囊状脏器叫什么?", "膀胱", "子宫", "\\boxed{膀胱}"),
    Question(912, "KG", "CLOSED", "呼吸时空气会经过中间的黑洞吗?", "会", "会", "会，那是气道。", None,
             ("喉", "作用", "ktail")),
]
# fmt: on


def rows() -> list[dict[str, object]]:
    """The rows of test.json, English first."""
    out: list[dict[str, object]] = []
    for language, questions in (("en", ENGLISH), ("zh", CHINESE)):
        for q in questions:
            modality, location = SCANS[q.image]
            out.append(
                {
                    "img_id": q.image,
                    "img_name": f"xmlab{q.image}/source.jpg",
                    "question": q.question,
                    "answer": q.answer,
                    "q_lang": language,
                    "location": location,
                    "modality": modality,
                    "answer_type": q.kind,
                    "base_type": "kvqa" if q.content == "KG" else "vqa",
                    "triple": list(q.triple),
                    "qid": 900001 + len(out),
                    "content_type": q.content,
                }
            )
    return out


def images() -> dict[str, bytes]:
    """The members of imgs.zip: name -> JPEG bytes; RGB but for one grey picture."""
    drawn: dict[int, Image.Image] = {
        901: scans.chest_xray(512, 540, seed=11),
        902: scans.chest_xray(400, 420, opacity=True, seed=12),
        903: scans.chest_xray(420, 420, big_heart=True, seed=13),
        904: scans.brain_axial(320, weighting="T1", seed=14),
        905: scans.brain_axial(320, weighting="T2", lesion=True, seed=15),
        906: scans.brain_coronal(320, seed=16),
        907: scans.head_sagittal(320, seed=17),
        908: scans.abdomen_ct(440, seed=18),
        909: scans.abdomen_ct(440, lesion=True, kidneys=1, seed=19),
        910: scans.chest_ct(440, nodule=True, seed=20),
        911: scans.pelvis_ct(400, seed=21),
        912: scans.neck_ct(240, seed=22),
    }
    return {
        f"imgs/xmlab{number}/source.jpg": jpeg(image if number == 901 else image.convert("RGB"), 76)
        for number, image in drawn.items()
    }


LEADS = {
    "en": {
        "Modality": "The contrast and the tissue tones decide this.",
        "Plane": "The shape of the slice tells the plane.",
        "Quantity": "Counting them one by one.",
        "Position": "Looking at the borders of the picture.",
    },
    "zh": {"Modality": "从组织对比度可以判断。", "Plane": "从切面形状可以判断。", "Quantity": "逐一数过。"},
}


def replies() -> dict[str, dict[str, list[str]]]:
    """Model -> leaf task -> replies in the order of the leaf's rows."""
    out: dict[str, dict[str, list[str]]] = {"careful": {}, "prior": {}, "messy": {}}
    for language, questions in (("en", ENGLISH), ("zh", CHINESE)):
        for q in questions:
            task = f"slake_{language}_{q.kind.lower()}"
            lead = LEADS[language].get(q.content, "")
            said = q.slip or q.answer
            out["careful"].setdefault(task, []).append(f"{lead}\nANSWER: {said}" if lead else f"ANSWER: {said}")
            out["prior"].setdefault(task, []).append(f"ANSWER: {q.prior}")
            out["messy"].setdefault(task, []).append(q.messy)
    return out
