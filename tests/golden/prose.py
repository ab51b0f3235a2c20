"""Words for the golden frames: our own prose, tables and code, so that nothing here has a licence."""

from __future__ import annotations

HARBOUR = [
    "The harbour wakes before the town does. At five the ice machine rattles, gulls argue over the "
    "slipway, and the first van backs down to the quay with its hazard lights blinking. Nobody talks "
    "much. Crates are counted, ropes are coiled, and a radio murmurs the forecast for the outer banks: "
    "north-westerly four, veering five, visibility moderate with patches of drizzle.",
    "Margaret keeps the tally in a green notebook. She writes the weight, the boat and the hour, and "
    "when two boats land together she draws a small bracket in the margin. Her figures have been right "
    "for nineteen years, apart from one wet Thursday when the ink ran and forty boxes of mackerel "
    "became four hundred. The buyers still laugh about that invoice.",
    "By eight the auction is over. Water runs in silver lines across the concrete, the forklift is "
    "parked under its tin roof, and somebody has already chalked tomorrow's tide on the door: high "
    "water 06:42, low water 12:55. In between there is time for breakfast, mending and gossip.",
]

WORKSHOP = [
    "A bicycle tells you what is wrong if you listen to it. A click once per turn of the pedal means "
    "the crank; a click once per turn of the wheel means a spoke. Grinding comes from dry bearings, "
    "squealing from a glazed brake pad, and silence, oddly enough, from a chain that is about to snap.",
    "Begin with the cheap things. Wipe the chain, check the tyre pressure, tighten every bolt to the "
    "torque printed beside it, and ride around the block. Half of all repairs end there. The other "
    "half need patience, a clean rag and a tray with separate corners for left and right.",
    "Write down what you changed. Three months later nobody remembers whether the shim was 0.2 mm or "
    "0.3 mm, and the answer decides if the wheel rubs. A notebook with oily fingerprints is worth more "
    "than a drawer of special tools.",
]

GARDEN = [
    "Seedlings dislike surprises. Move them outside for an hour on the first day, two on the second, "
    "and bring them back before the evening wind. After a week they will hold their stems upright and "
    "their leaves will have turned a darker, tougher green.",
    "Compost is a slow conversation between carbon and nitrogen. Dry leaves, cardboard and straw speak "
    "for one side; kitchen peelings and fresh clippings answer for the other. Turn the heap when it "
    "cools, water it when it rustles, and leave it alone when it steams.",
    "Frost arrives without an appointment. Keep fleece near the door, lift the potatoes before the "
    "ground hardens, and label every jar with the year, because October always looks the same from "
    "the far side of winter.",
    "The best path through a vegetable bed is the one your feet already chose. Lay the planks there, "
    "plant mint where it cannot escape, and accept that the snails were here first.",
]

MAILS = [
    ("Ingrid Halvorsen", "Kitchen measurements for the second floor", "The alcove is 182 cm wide", "09:14"),
    ("Customs Office", "Declaration 7741-C accepted", "Your parcel leaves the depot tonight", "08:52"),
    ("Priya Raman", "Slides for Wednesday", "I shortened the budget section to four pages", "08:31"),
    ("Library", "Two loans are due on Friday", "Renew them online before midnight", "07:58"),
    ("Tomasz Wilk", "Photos from the ridge walk", "Number twelve is the one with the storm", "Yesterday"),
    ("Water Board", "Meter reading requested", "Please send the five black digits", "Yesterday"),
    ("Fatima Osei", "Re: choir rehearsal moved", "The church hall is free from seven", "Yesterday"),
    ("Build robot", "Pipeline 3082 failed at linting", "One unused import in parser.py", "Tuesday"),
    ("Dentist Moreau", "Appointment reminder", "Thursday at 14:40, second door left", "Tuesday"),
    ("Neighbours", "Stairwell painting schedule", "Ground floor starts on Monday morning", "Monday"),
    ("Elena Petrova", "Draft contract, version six", "Clause nine now matches the annex", "Monday"),
    ("Bookshop", "Your order has arrived", "Three paperbacks wait behind the counter", "Sunday"),
    ("Samuel Adeyemi", "Train tickets to Gothenburg", "Coach 11, seats 45 and 46, quiet zone", "Sunday"),
    ("Energy Co-op", "Quarterly statement", "You produced 318 kWh more than you used", "Saturday"),
    ("Mum", "Recipe you asked for", "Less sugar than you think, more lemon", "Saturday"),
]

PARTS = [
    ("AX-1094", "Hex bolt, stainless", "M8 x 40", "1,250", "0.18", "Rotterdam", "in stock"),
    ("AX-1107", "Lock washer", "M8", "4,800", "0.03", "Rotterdam", "in stock"),
    ("BQ-2210", "Ball bearing, sealed", "6204", "312", "2.95", "Leipzig", "reserved"),
    ("BQ-2231", "Needle roller", "HK1612", "96", "3.40", "Leipzig", "low"),
    ("CF-0318", "Timing belt", "5M-375", "58", "11.20", "Bilbao", "ordered"),
    ("CF-0322", "Idler pulley", "32 mm", "41", "7.85", "Bilbao", "in stock"),
    ("DK-7719", "Cable gland", "PG 13.5", "960", "0.62", "Gdansk", "in stock"),
    ("DK-7744", "Heat shrink, black", "6.4 mm", "2,130", "0.09", "Gdansk", "in stock"),
    ("EL-4400", "Relay, 24 volt", "10 A", "77", "4.15", "Porto", "low"),
    ("EL-4418", "Terminal block", "2.5 mm", "1,604", "0.47", "Porto", "in stock"),
    ("FM-5023", "Gas spring", "450 N", "18", "13.90", "Tampere", "ordered"),
    ("FM-5031", "Rubber buffer", "40 x 30", "233", "1.75", "Tampere", "in stock"),
    ("GN-8801", "Shaft collar", "20 mm", "149", "2.10", "Cork", "reserved"),
    ("GN-8815", "Woodruff key", "5 x 6.5", "870", "0.21", "Cork", "in stock"),
    ("HP-6672", "Hydraulic hose", "DN 10", "64", "9.30", "Turin", "in stock"),
    ("HP-6690", "Quick coupling", "G 3/8", "52", "12.45", "Turin", "low"),
]

CODE = '''"""Tide tables from harmonic constituents."""

from dataclasses import dataclass
from math import cos, radians


@dataclass(frozen=True)
class Constituent:
    name: str
    amplitude_m: float
    phase_deg: float
    speed_deg_per_hour: float


def height(constituents, hours, mean_level=0.0):
    """Water level in metres above chart datum."""
    total = mean_level
    for part in constituents:
        angle = part.speed_deg_per_hour * hours - part.phase_deg
        total += part.amplitude_m * cos(radians(angle))
    return round(total, 3)


def turning_points(constituents, start, stop, step=0.1):
    previous, rising = height(constituents, start), None
    found = []
    moment = start + step
    while moment < stop:
        level = height(constituents, moment)
        upward = level > previous
        if rising is not None and upward != rising:
            kind = "low" if upward else "high"
            found.append((kind, moment - step, previous))
        previous, rising = level, upward
        moment += step
    return found


M2 = Constituent("M2", amplitude_m=1.84, phase_deg=132.0, speed_deg_per_hour=28.984)
S2 = Constituent("S2", amplitude_m=0.61, phase_deg=171.5, speed_deg_per_hour=30.0)
K1 = Constituent("K1", amplitude_m=0.09, phase_deg=87.25, speed_deg_per_hour=15.041)

if __name__ == "__main__":
    for kind, when, level in turning_points([M2, S2, K1], 0, 48):
        print(f"{kind:>4} water at hour {when:5.1f}: {level:+.2f} m")
'''

CHAT = [
    ("Noor", "Has anyone seen the key for the rehearsal room?", "16:02"),
    ("Felix", "Top shelf, behind the metronome. Please put it back this time.", "16:03"),
    ("Noor", "Found it, thank you! Also the heater makes a strange whistling noise.", "16:05"),
    ("Beatriz", "That is the valve. Turn it a quarter clockwise and wait ten minutes.", "16:07"),
    ("Felix", "Concert order: overture, cello piece, break, then the long symphony.", "16:15"),
    ("Beatriz", "The printed programme says 19:30 but doors open at 18:45.", "16:16"),
    ("Noor", "Eighty-four tickets sold so far, sixteen left in the balcony.", "16:21"),
    ("Felix", "My cousin can lend us two music stands and a folding ladder.", "16:30"),
    ("Beatriz", "Perfect. I will collect everything on Saturday before lunch.", "16:33"),
    ("Noor", "Reminder: parking behind the museum is closed until March.", "16:41"),
]

CHINESE = [
    "清晨的港口比城市醒得更早。五点钟，制冰机开始轰鸣，海鸥在船台上争吵，第一辆货车闪着灯慢慢倒向码头。"
    "没有人多说话，大家数着木箱，整理绳索，收音机里低声播报外海的天气：西北风四级，转五级，能见度中等，有零星小雨。",
    "老林把账记在一本绿色的笔记本里。他写下重量、船名和时间，遇到两条船同时靠岸，就在页边画一个小括号。"
    "十九年来他的数字几乎没有出过错，只有一个下雨的星期四，墨水化开了，四十箱鱼变成了四百箱，买家至今还拿这张发票开玩笑。",
    "八点以前拍卖就结束了。水在水泥地上流成银色的细线，叉车停回铁皮屋檐下，门上已经用粉笔写好明天的潮汐。"
    "剩下的时间用来吃早饭、补网和聊天。年轻人讨论新买的发动机，老人只关心昨夜的风向。",
    "种菜需要耐心。幼苗第一天只在户外放一个小时，第二天两个小时，傍晚起风之前搬回屋里。"
    "一周以后，茎秆挺直，叶片的颜色也会变深。霜冻从不预约，所以保温布要放在门边，土豆要在土地变硬之前挖出来。",
    "修自行车的第一步是听声音。踏板每转一圈响一次，多半是曲柄松了；车轮每转一圈响一次，往往是辐条的问题。"
    "先做便宜的事情：擦干净链条，检查胎压，把螺丝拧到规定的力矩，再骑出去试一试。",
]

CHINESE_TASKS = [
    ("整理会议记录", "王小明", "进行中", "周三下午", "补充第二部分的数据来源"),
    ("更新客户联系方式", "李秀英", "已完成", "周一上午", "电话号码全部核对过"),
    ("准备季度预算", "陈志强", "待开始", "下周五", "需要财务部门提供汇率"),
    ("测试登录页面", "赵雪梅", "进行中", "今天晚上", "密码错误时提示不清楚"),
    ("联系打印机维修", "孙建国", "已延期", "月底之前", "配件还在运输途中"),
    ("翻译产品说明书", "周文静", "进行中", "周四中午", "术语表放在共享文件夹"),
    ("安排新员工培训", "吴晓峰", "待开始", "下个月初", "会议室需要提前预订"),
    ("检查服务器备份", "郑海燕", "已完成", "昨天夜里", "恢复演练用时十二分钟"),
]

CHINESE_MIXED = [
    "本周我们把搜索服务从 Python 3.9 升级到 Python 3.11，平均响应时间从 180 ms 下降到 95 ms。",
    "请在 README 里补充 Docker 的启动步骤，并注明端口 8080 可能被占用。",
    "接口 GET /orders 返回 404 时，前端应该显示“订单不存在”，而不是空白页面。",
    "数据库使用 SQLite，备份文件保存在 backup 目录，文件名包含 UTC 时间。",
    "代码评审由 Alice 和 张伟 负责，合并之前至少需要两个 approve。",
    "如果遇到 timeout，先检查 VPN 是否连接，再运行 make test 重新验证。",
]
