"""Sixty questions over six hundred made-up lines in eight languages, on subjects no model was chosen by.

Hobbies and trades that the other sets never mention: bees, kilns, tides, ancestors, darkroom, stage
light, radio, caves. Each question has one line that answers it in other words, half of them in
another language; lines on the same subjects and sentences from templates stand between them. Use it to
measure, never to choose: what was tuned on it is no longer held out.
"""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

LINES_PER_LANGUAGE = 75


class HeldOut(NamedTuple):
    asked_in: str
    question: str
    written_in: str
    line: str


_PAIRS = """
en | bees dying in winter | en | The hive lost most of its colony during the cold months
en | when is high tide | en | The harbour is deepest at 06:40 and again shortly before seven in the evening
en | crack in the pot after firing | en | A fissure ran down the vase when it came out of the kiln
en | who was my great-grandfather | en | Ancestor: Thomas Ashby, born 1861, father of your mother's mother
de | Funkgerät wird zu heiß | en | The shortwave transmitter's power stage overheats after ten minutes
ja | 彗星を見たい | en | An icy visitor with a long tail can be seen with the naked eye in the west
zh | 毒蘑菇 | en | Never eat the red cap with white spots from the forest floor
ru | подковать лошадь | en | The farrier comes on Thursday for the mare's hooves
zh | 怎么养蜜蜂 | zh | 蜂箱放在向阳处，每两周检查一次巢脾
zh | 用望远镜看土星 | zh | 八十毫米口径的镜筒就能认出那颗行星的光环
zh | 冲洗胶卷 | zh | 暗房里显影六分钟，再停影、定影、水洗
zh | 国际象棋怎么开局 | zh | 执白第一步走王前兵，占据棋盘中心
en | bird with a red crest | zh | 头顶红色羽冠的啄木鸟在松树上觅食
fr | réparer un violon | zh | 小提琴面板开裂，请制琴师用鱼胶黏合
es | erupción del volcán | zh | 山口喷出八千米高的灰柱和岩浆，周边村庄疏散
ja | 陶芸の窯を買う | ja | 家庭用の小さな焼成炉、最高温度千二百五十度で九万円
ja | 先祖を調べる | ja | 戸籍と過去帳から明治時代の家系図を作成する
ja | 洞窟が水没した | ja | 大雨で鍾乳洞の通路に水が入り、探検は中止
ja | 舞台の照明 | ja | 第二幕は青いスポットを主役だけに当てる
en | origami crane | ja | 正方形の紙から鶴を折る手順
de | Teleskop reinigen | ja | 反射鏡のほこりをブロワーで飛ばし、蒸留水で洗う
ko | 버섯 따기 | ja | 秋の山で松茸を採るコツと許可証
ru | прилив и отлив | ja | 今日の満潮は五時十二分、干潮は十一時三十分
de | Imker sucht Schwarm | de | Ein Bienenvolk hängt im Apfelbaum und kann abgeholt werden
de | Wann geht die Sonne unter | de | Heute wird es um 17:52 Uhr dunkel
de | Film im Labor entwickeln | de | Schwarzweißnegative: sechs Minuten in die Chemie, dann fixieren
de | Reitstunde abgesagt | de | Der Unterricht auf dem Pferd fällt am Samstag aus
en | ancient coins found | de | Ausgrabung bringt römisches Geld aus dem dritten Jahrhundert ans Licht
zh | 舞台灯光坏了 | de | Im Theater ist der Scheinwerfer links oben ausgefallen
fr | fromage trop salé | de | Der Käse schmeckt nach der Lake viel zu kräftig, kürzer baden lassen
ru | переплёт книги | de | Buchrücken mit Leinen beziehen und Lagen mit Faden heften
fr | monter une voile | fr | Hisser la toile au mât avant de quitter le port
fr | oiseaux migrateurs | fr | Les cigognes partent vers l'Afrique dès la fin août
fr | fouilles archéologiques | fr | Sous la place, les chercheurs dégagent un mur gallo-romain
fr | four à céramique en panne | fr | La cuisson de la poterie s'est arrêtée : la résistance est morte
en | choir rehearsal | fr | Les chanteurs répètent le requiem jeudi à vingt heures
es | miel cristalizada | fr | Le pot des abeilles a durci : le chauffer doucement au bain-marie
ko | 체스 대회 | fr | Tournoi d'échecs : sept rondes, cadence de quinze minutes
es | setas venenosas | es | Este hongo blanco del bosque puede matar, no lo recojas
es | árbol genealógico | es | Los bisabuelos llegaron de Galicia en 1903 según el registro parroquial
es | antena de radio | es | Un dipolo de veinte metros en el tejado mejora la recepción en onda corta
es | herradura suelta | es | El caballo ha perdido el hierro de la pata trasera
en | lunar eclipse | es | La luna se teñirá de rojo a las dos de la madrugada al entrar en la sombra
de | Geige stimmen | es | Afinar las cuatro cuerdas del violín con el la a 440
ja | 火山ガスの警報 | es | Aviso: emanaciones de azufre cerca del cráter, no subir
zh | 帆船比赛 | es | La regata de veleros sale el domingo a mediodía con viento del norte
ko | 양봉 시작하기 | ko | 벌통 두 개와 훈연기로 꿀벌을 처음 키우는 방법
ko | 별자리 관측 | ko | 오늘 밤 남쪽 하늘에서 오리온을 찾아보세요
ko | 도자기에 금이 갔다 | ko | 가마에서 꺼낸 그릇이 갈라져 있었다
ko | 연극 연습 시간 | ko | 배우들은 화요일 저녁 일곱 시에 무대에 모인다
en | film camera repair | ko | 오래된 필름 사진기의 셔터를 고쳐 드립니다
fr | grotte inondée | ko | 동굴 안에 물이 차서 탐사대가 되돌아왔다
ru | гнездо аиста | ko | 황새가 굴뚝 위에 둥지를 틀었다
ru | погибли пчёлы | ru | За зиму в улье вымерла почти вся семья
ru | шахматный дебют | ru | Белые начинают ходом королевской пешки на два поля
ru | ремонт скрипки | ru | Мастер заклеил трещину на верхней деке инструмента
ru | радиосвязь на коротких волнах | ru | Позывной принят на двадцати метрах, слышимость хорошая
en | ghost ship | ru | Парусник нашли в море без единого человека на борту
zh | 打铁做刀 | ru | Кузнец закаливает клинок в масле
es | queso de cabra | ru | Козий творог и зрелый сыр с фермы
"""

_SAME_SUBJECTS = """
en | The beekeepers' club meets on the first Monday
en | Glaze recipes for stoneware, cone six
en | Sunset over the estuary, photograph by the sailing club
en | Parish registers before 1837 are kept in the county archive
en | The knight moves in an L and may jump over others
en | Stage lamps are rented by the week
en | Stable fees are due at the end of the month
en | A call sign is issued after the radio examination
en | Woodpeckers drum to mark their territory
en | Cave maps are drawn at a scale of one to five hundred
zh | 蜂蜜每瓶四十五元
zh | 天文馆周一闭馆
zh | 相机背带断了，换一根皮的
zh | 棋谱收藏目录
zh | 观鸟协会年会通知
zh | 小提琴初级班报名
zh | 火山岩做成的花盆
zh | 陶艺体验课每人一百二十元
zh | 族谱馆修缮工程
zh | 帆布包清洗方法
ja | 蜂蜜入りの飴を三袋
ja | 天文部の部室は三階です
ja | 陶器市は五月の連休に開催
ja | 舞台の幕を新しくする費用
ja | 鍾乳洞の入場料は大人千円
ja | 折り紙の本の在庫を確認
ja | 望遠鏡の三脚を貸してください
ja | 将棋と碁の違い
ja | 海辺の宿の予約
ja | 山小屋の開き戸が壊れた
de | Honig vom Imker im Glas, 500 Gramm
de | Der Sattel muss neu gepolstert werden
de | Das Theater sucht Platzanweiser
de | Die Sternwarte öffnet bei klarem Himmel
de | Römische Straßen auf einer alten Karte
de | Papier mit Marmormuster für Buchdeckel
de | Die Kamera braucht einen neuen Riemen
de | Käsefondue für sechs Personen
de | Bienenwachskerzen aus eigener Herstellung
de | Die Funkprüfung findet im Mai statt
fr | Le port ferme à vingt-deux heures
fr | Un livre sur les oiseaux de mer
fr | Atelier de poterie pour débutants
fr | Le musée d'archéologie cherche des bénévoles
fr | La partition du requiem est épuisée
fr | Un échiquier en bois d'olivier
fr | Le miel de lavande du marché
fr | Voile de coton pour rideaux
fr | Le chœur de l'église date du douzième siècle
fr | Les abeilles du toit de l'opéra
es | Receta de arroz con setas
es | El bosque cierra por riesgo de incendio
es | Un libro sobre los caballos andaluces
es | El violín del abuelo está en el desván
es | La radio del coche no funciona
es | Fases de la luna para el huerto
es | El puerto deportivo amplía sus amarres
es | Piedra volcánica para la parrilla
es | El cura bendijo los animales
es | Clases de vela para niños
ko | 꿀차 한 잔
ko | 별 모양 쿠키 틀
ko | 도자기 박물관 휴관일
ko | 연극 표 두 장 예매
ko | 사진기 가방을 새로 샀다
ko | 동굴 카페에 가고 싶다
ko | 황새 마을 안내판
ko | 체스 말이 하나 없다
ko | 벌에 쏘였을 때 바르는 연고
ko | 하늘색 페인트 주문
ru | Мёд липовый, банка полкило
ru | Шахматный клуб закрыт на ремонт
ru | Скрипичный ключ на нотном стане
ru | Радио в машине не работает
ru | Парусина для палатки
ru | Кузнечный двор в музее
ru | Козы пасутся у реки
ru | Пчеловод ищет помощника
ru | Доска из дуба для пола
ru | Экскурсия в гончарную мастерскую
"""

# A sentence of each language, its tasks and its things: eight of each make the rest of the lines.
_TEMPLATES = {
    "en": (
        "The {0} for the {1} is ready",
        "cover blueprint invoice handle lid label stand frame",
        "harp canoe greenhouse lantern compass quilt drone aquarium",
    ),
    "zh": (
        "{1}的{0}已经准备好了",
        "封面 图纸 发票 把手 盖子 标签 支架 边框",
        "竖琴 独木舟 温室 灯笼 罗盘 棉被 无人机 水族箱",
    ),
    "ja": (
        "{1}の{0}ができました",
        "表紙 設計図 請求書 取っ手 ふた ラベル 台 枠",
        "ハープ カヌー 温室 提灯 羅針盤 布団 ドローン 水槽",
    ),
    "de": (
        "{0} und {1} liegen bereit",
        "Hülle Bauplan Rechnung Griff Deckel Etikett Ständer Rahmen",
        "Harfe Kanu Gewächshaus Laterne Kompass Steppdecke Drohne Aquarium",
    ),
    "fr": (
        "Commande prête : {0}, {1}",
        "couverture plan facture poignée couvercle étiquette support cadre",
        "harpe canoë serre lanterne boussole édredon drone aquarium",
    ),
    "es": (
        "Pedido listo: {0}, {1}",
        "funda plano factura mango tapa etiqueta soporte marco",
        "arpa canoa invernadero farol brújula colcha dron acuario",
    ),
    "ko": (
        "{1} {0} 준비되었습니다",
        "덮개 도면 송장 손잡이 뚜껑 라벨 받침대 틀",
        "하프 카누 온실 등불 나침반 이불 드론 수족관",
    ),
    "ru": (
        "Готово к выдаче: {0}, {1}",
        "обложка чертёж счёт ручка крышка ярлык подставка рамка",
        "арфа каноэ теплица фонарь компас одеяло дрон аквариум",
    ),
}


def questions() -> list[HeldOut]:
    return [HeldOut(*(part.strip() for part in row.split("|"))) for row in _PAIRS.strip().splitlines()]


def lines() -> list[str]:
    """The lines of all languages, `LINES_PER_LANGUAGE` of each, in a mixed order."""
    rng = random.Random(1)
    found = []
    for language, (sentence, tasks, things) in _TEMPLATES.items():
        own = [each.line for each in questions() if each.written_in == language]
        rows = [row.split("|") for row in _SAME_SUBJECTS.strip().splitlines()]
        own += [line.strip() for written_in, line in rows if written_in.strip() == language]
        made = [sentence.format(*both) for both in itertools.product(tasks.split(), things.split())]
        found += own + rng.sample(made, LINES_PER_LANGUAGE - len(own))
    rng.shuffle(found)
    return found
