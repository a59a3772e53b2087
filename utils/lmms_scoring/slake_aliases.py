"""The wordings that SLAKE's flexible reading takes for the same answer.

Data only. A form stands here when a radiologist would not hesitate: `axial` is the transverse plane, `magnetic
resonance` is MRI. What only comes close is missing on purpose: `colon` is not the large bowel, `brain` is not the head,
`left lower lobe` is not the lower left lung, `T2*` and `FLAIR` are not T2.

Forms are written as `lmms_scoring.slake_wording.phrase` leaves them: lower case, no punctuation, no article in front,
American spelling, singular, no space beside a Chinese character.
"""

from __future__ import annotations

from typing import NamedTuple


class Concept(NamedTuple):
    """One answer, the group of answers that exclude each other, and its wordings, English and Chinese.

    The name itself is one of the English wordings.
    """

    name: str
    group: str
    english: tuple[str, ...]
    chinese: tuple[str, ...] = ()


CONCEPTS = (
    # Modality. Every X-ray of SLAKE is a chest film, so naming the chest adds nothing wrong.
    Concept(
        "ct",
        "modality",
        ("cat scan", "computed tomography", "computerized tomography"),
        ("计算机断层", "电子计算机断层", "电脑断层", "计算机断层摄影"),
    ),
    Concept(
        "mri",
        "modality",
        ("mr", "magnetic resonance"),
        ("核磁共振", "磁共振", "核磁"),
    ),
    Concept(
        "x ray",
        "modality",
        ("xray", "radiograph", "radiography", "chest x ray", "chest xray", "chest radiograph", "cxr"),
        ("x光", "x线", "x射线", "胸片", "x光胸片", "胸部x光", "胸部x线"),
    ),
    # Weighting of an MRI.
    Concept("t1", "weighting", ("t1w", "t1wi", "t1 weighted", "t1 weighting"), ("t1加权", "t1权重")),
    Concept("t2", "weighting", ("t2w", "t2wi", "t2 weighted", "t2 weighting"), ("t2加权", "t2权重")),
    # Plane.
    Concept(
        "transverse plane",
        "plane",
        ("transverse", "axial", "transaxial", "horizontal plane", "cross section"),
        (
            "横断",
            "横断面",
            "横断位",
            "横切面",
            "横截面",
            "轴位",
            "轴面",
            "轴位面",
            "轴状面",
            "轴状位",
            "横轴位",
            "横轴面",
            "水平面",
        ),
    ),
    Concept("coronal plane", "plane", ("coronal", "frontal"), ("冠状", "冠状面", "冠状位", "冠状切面", "额状面")),
    Concept("sagittal plane", "plane", ("sagittal",), ("矢状", "矢状面", "矢状位", "矢状切面")),
    # Colour and density.
    Concept("black", "color", (), ("黑色", "黑")),
    Concept("white", "color", (), ("白色", "白")),
    Concept("gray", "color", (), ("灰色", "灰")),
    Concept("dark gray", "color", (), ("深灰色", "深灰", "暗灰色")),
    Concept("hyperdense", "density", ("high density",), ("高密度",)),
    Concept("hypodense", "density", ("low density",), ("低密度",)),
    # Regions of the body. The Chinese half calls the chest 胸腔, the English half Chest.
    Concept("chest", "region", ("thorax", "chest cavity", "thoracic cavity"), ("胸腔", "胸部", "胸")),
    Concept("abdomen", "region", ("abdominal cavity",), ("腹部", "腹腔", "腹")),
    Concept("head", "region", (), ("头部", "头")),
    Concept("neck", "region", (), ("颈部", "颈", "脖子")),
    Concept("pelvic cavity", "region", ("pelvis",), ("盆腔", "骨盆")),
    # Organs.
    Concept("lung", "organ", (), ("肺", "肺部", "肺脏")),
    Concept("heart", "organ", (), ("心脏", "心")),
    Concept("liver", "organ", (), ("肝脏", "肝")),
    Concept("spleen", "organ", (), ("脾脏", "脾")),
    Concept("kidney", "organ", (), ("肾脏", "肾")),
    Concept("brain", "organ", (), ("大脑", "脑", "脑部")),
    Concept("stomach", "organ", (), ("胃", "胃部")),
    Concept("esophagus", "organ", (), ("食管", "食道")),
    Concept("trachea", "organ", ("windpipe",), ("气管",)),
    Concept("larynx", "organ", ("voice box",), ("喉", "喉部")),
    Concept("bladder", "organ", ("urinary bladder",), ("膀胱",)),
    Concept("rectum", "organ", (), ("直肠",)),
    Concept("colon", "organ", (), ("结肠",)),
    Concept("small bowel", "organ", ("small intestine",), ("小肠",)),
    Concept("large bowel", "organ", ("large intestine",), ("大肠",)),
    Concept("bowel", "organ", ("intestine",), ("肠", "肠道")),
    Concept("spinal cord", "organ", (), ("脊髓",)),
    Concept("mandible", "organ", (), ("下颌骨",)),
    Concept("parotid gland", "organ", ("parotid",), ("腮腺",)),
    Concept("temporal lobe", "organ", (), ("颞叶",)),
    # Parts that only occur with a side: `left lobe`, 右叶.
    Concept("lobe", "part", (), ("叶",)),
    Concept("hemisphere", "part", (), ("半球", "脑半球")),
    # Places in the image, beside left, right, upper and lower, which combine.
    Concept("center", "position", ("middle",), ("中心", "中央", "中间", "中部")),
    Concept("top", "position", (), ("顶部", "顶端")),
    Concept("bottom", "position", (), ("底部", "底端")),
    Concept("bilateral", "position", ("both side",), ("双侧", "两侧")),
    # Shapes.
    Concept("oval", "shape", ("elliptical", "ellipse"), ("椭圆",)),
    Concept("circular", "shape", ("round", "circle"), ("圆",)),
    Concept("irregular", "shape", (), ("不规则",)),
    # Findings.
    Concept("pneumonia", "finding", (), ("肺炎",)),
    Concept("atelectasis", "finding", (), ("肺不张",)),
    Concept("pneumothorax", "finding", (), ("气胸",)),
    Concept(
        "cardiomegaly",
        "finding",
        ("enlarged heart", "heart enlargement", "cardiac enlargement"),
        ("心脏肥大", "心脏增大", "心脏扩大"),
    ),
    Concept("pleural effusion", "finding", (), ("胸腔积液",)),
    Concept("lung cancer", "finding", (), ("肺癌",)),
    Concept("liver cancer", "finding", ("hepatic cancer",), ("肝癌",)),
    Concept("brain edema", "finding", ("cerebral edema",), ("脑水肿",)),
    Concept("brain tumor", "finding", (), ("脑肿瘤", "脑瘤")),
    Concept("brain enhancing tumor", "finding", ("enhancing brain tumor",), ("增强型脑肿瘤",)),
    Concept(
        "brain non enhancing tumor",
        "finding",
        ("non enhancing brain tumor",),
        ("非增强型脑肿瘤",),
    ),
    Concept("nodule", "finding", (), ("结节",)),
    Concept("pulmonary nodule", "finding", ("lung nodule",), ("肺结节", "肺部结节")),
    Concept("pulmonary mass", "finding", ("lung mass",), ("肺肿块", "肺部肿块")),
    Concept(
        "pulmonary infiltration",
        "finding",
        ("lung infiltration", "pulmonary infiltrate"),
        ("肺浸润", "肺部浸润"),
    ),
    # Functions and amounts.
    Concept("breathe", "function", ("breathing", "respiration"), ("呼吸",)),
    Concept("much", "amount", ("lot",), ("较多", "比较多")),
    Concept("little", "amount", ("little bit",), ("较少", "比较少")),
)

#: Words that may follow any wording of a group and change nothing: `CT scan`, `T2加权像`, `coronal view`.
SUFFIXES = {
    "modality": (("scan", "image", "imaging"), ("扫描", "图像", "成像", "检查", "影像", "片")),
    "weighting": (("image", "imaging", "mri", "scan", "sequence"), ("像", "图像", "成像", "序列", "扫描", "相")),
    "plane": (("plane", "section", "view", "slice"), ()),
    "color": (("color", "in color"), ()),
    "region": (("region", "area"), ("区域",)),
    "shape": (("shape", "shaped", "in shape"), ("形", "形状")),
}

#: Sides, which combine with each other and with an organ:
#: `left lower lung` is the lower left lung, 左侧肾脏 the left kidney.
LATERAL = {"left": "左", "right": "右"}
VERTICAL = {"upper": "上", "lower": "下"}

#: Words behind a side that add nothing: `left side`, `lower right corner`, 左下角.
SIDE_NOUNS = ("side", "part", "portion", "corner", "hand side")
SIDE_NOUNS_CHINESE = ("角", "侧", "部", "方", "边", "面", "野", "区")

#: British spellings, whose American form the references use.
SPELLINGS = {
    "grey": "gray",
    "colour": "color",
    "coloured": "colored",
    "centre": "center",
    "tumour": "tumor",
    "oedema": "edema",
    "oesophagus": "esophagus",
    "computerised": "computerized",
    "dyspnoea": "dyspnea",
    "faeces": "feces",
}

#: Yes and no on their own, whatever was asked.
YES = frozenset(
    (
        "yes",
        "yeah",
        "yep",
        "true",
        "correct",
        "是",
        "是的",
        "有",
        "有的",
        "包含",
        "包括",
        "含有",
        "存在",
        "可以",
        "能",
        "会",
        "对",
        "对的",
        "正确",
        "可见",
        "出现",
        "出现了",
        "属于",
    )
)
NO = frozenset(
    (
        "no",
        "nope",
        "false",
        "incorrect",
        "否",
        "不",
        "不是",
        "不是的",
        "没有",
        "没",
        "无",
        "不包含",
        "不包括",
        "不含有",
        "未包含",
        "不存在",
        "不可以",
        "不能",
        "不会",
        "不对",
        "错误",
        "不正确",
        "不可见",
        "未见",
        "没有出现",
        "未出现",
        "不属于",
    )
)

#: Replies to a question about an amount or a list that mean nothing at all, as the reference `None` and the count 0 do.
NOTHING = frozenset(("none", "no damage", "no harm", "no abnormality", "no disease", "nothing"))
