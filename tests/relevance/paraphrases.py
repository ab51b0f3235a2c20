"""Questions and the one line that answers each, said in other words: what only meaning can find.

The models and the way to join them were chosen by looking at these; no number was fitted to them. Six
Chinese questions share a character with their line, no English one a word of three letters or more;
across languages there is nothing to share.
"""

from __future__ import annotations

from typing import NamedTuple


class Paraphrase(NamedTuple):
    """A question and the line that answers it."""

    question: str
    line: str


CHINESE = (
    Paraphrase("怎么退货", "商品不满意七日内可原路寄回"),
    Paraphrase("工资什么时候发", "每月十号薪水到账"),
    Paraphrase("孩子发烧了", "宝宝体温三十九度要不要吃药"),
    Paraphrase("电脑很卡", "笔记本运行缓慢如何加速"),
    Paraphrase("附近好吃的饭馆", "这条街上最受欢迎的餐厅推荐"),
    Paraphrase("汽车保险", "车辆投保今年多少钱"),
    Paraphrase("手机没电", "智能设备无法充满能量"),
    Paraphrase("买房贷款利率", "银行按揭年息下调到百分之三点一"),
    Paraphrase("减肥食谱", "低卡路里瘦身菜单一周安排"),
    Paraphrase("股票大跌", "证券市场今天暴挫三大指数全线下滑"),
    Paraphrase("怎样学好英语", "提升外文口说水平的十个办法"),
    Paraphrase("天气预报", "明日多云转小雨最低温十二度"),
    Paraphrase("程序崩溃", "软件闪退日志里出现空指针异常"),
    Paraphrase("忘记密码", "重设登录口令请点这里"),
    Paraphrase("看医生", "预约门诊挂号内科上午"),
    Paraphrase("旅游攻略", "五天四晚云南出行路线与住宿建议"),
    Paraphrase("小猫生病", "宠物不吃东西一直呕吐"),
    Paraphrase("找工作", "投递简历应聘后端开发岗位"),
    Paraphrase("火车票", "高铁G1024次二等座已出行程单"),
    Paraphrase("开会时间", "例行讨论定于周三下午两点"),
    Paraphrase("送女朋友的礼物", "情人节给她挑一条项链"),
    Paraphrase("水管漏了", "厨房下面滴滴答答需要师傅维修"),
    Paraphrase("儿童读物", "适合小学生看的故事书单"),
    Paraphrase("失眠", "夜里总是睡不着怎么办"),
    Paraphrase("数据丢失", "误删文件后从备份恢复"),
    Paraphrase("网络太慢", "宽带下载速度只有几十K"),
    Paraphrase("交通堵塞", "早高峰环路拥挤行驶缓慢"),
    Paraphrase("养老", "老年人退休生活保障"),
    Paraphrase("购物优惠", "双十一全场五折领券满减"),
    Paraphrase("离职", "小王向公司递交了辞呈"),
    Paraphrase("考试成绩", "期末数学得了九十二分"),
    Paraphrase("音乐会", "周末去听交响乐演出"),
    Paraphrase("钱不够花", "月底预算超支又透支了信用卡"),
    Paraphrase("地震", "四川发生六级强烈摇晃居民撤离"),
    Paraphrase("跑步训练", "马拉松备战每周慢速三十公里"),
    Paraphrase("结婚", "他们下个月举办喜宴"),
    Paraphrase("黑客攻击", "系统遭到入侵用户隐私泄露"),
    Paraphrase("快递在哪", "包裹已到达上海转运中心"),
    Paraphrase("做蛋糕", "烘焙入门低筋面粉加糖打发奶油"),
    Paraphrase("电影推荐", "豆瓣高分影片排行榜"),
)  # fmt: skip

ENGLISH_TO_CHINESE = (
    Paraphrase("refund request", "我要退款，商品有质量问题"),
    Paraphrase("flight delayed", "航班因天气原因推迟三小时起飞"),
    Paraphrase("kindergarten fees", "幼儿园下学期的学费通知"),
    Paraphrase("how to cook noodles", "牛肉面的家常做法"),
    Paraphrase("electricity bill", "本月电费一百八十元请及时缴纳"),
    Paraphrase("out of memory", "服务器内存不足进程被终止"),
    Paraphrase("lost my wallet", "钱包在地铁上丢了"),
    Paraphrase("stomach pain", "肚子疼了一整天"),
    Paraphrase("water the plants", "阳台上的花记得浇水"),
    Paraphrase("football match result", "昨晚的足球比赛二比一获胜"),
    Paraphrase("tax return", "个人所得税年度汇算申报"),
    Paraphrase("used car price", "二手车报价八万公里无事故"),
    Paraphrase("learn programming", "零基础自学编程教程"),
    Paraphrase("dentist", "下周二去拔智齿"),
    Paraphrase("climate change", "全球变暖导致冰川融化"),
    Paraphrase("birthday party", "妈妈六十大寿在饭店聚餐"),
    Paraphrase("database connection failed", "无法连接到数据库"),
    Paraphrase("apartment cleaning", "请钟点工来家里打扫卫生"),
    Paraphrase("hotel booking", "已预订两晚的酒店房间"),
    Paraphrase("elections", "总统选举投票率创新高"),
)  # fmt: skip

CHINESE_TO_ENGLISH = (
    Paraphrase("打印机坏了", "The printer shows a paper jam and does not respond"),
    Paraphrase("项目延期", "The release date slips by three weeks"),
    Paraphrase("招聘工程师", "We are hiring a senior backend developer"),
    Paraphrase("健身", "Gym workout: squats, bench press and rowing"),
    Paraphrase("咖啡", "A double espresso with oat milk, please"),
    Paraphrase("代码评审", "Please review my pull request before noon"),
    Paraphrase("房租涨了", "The landlord raises the rent from January"),
    Paraphrase("天气很冷", "Temperatures drop below freezing tonight"),
    Paraphrase("预算审批", "Finance approved the spending plan for next year"),
    Paraphrase("过敏", "Contains peanuts; may cause an allergic reaction"),
    Paraphrase("合同签字", "Sign the agreement on page seven"),
    Paraphrase("学吉他", "First guitar lesson: three chords and a song"),
    Paraphrase("客户投诉", "An angry customer wrote about the broken lamp"),
    Paraphrase("安全漏洞", "A critical vulnerability allows remote code execution"),
    Paraphrase("搬家", "We are moving to a new house on Saturday"),
    Paraphrase("股市上涨", "Stocks rallied and closed at a record high"),
    Paraphrase("火车晚点", "The train arrives 40 minutes behind schedule"),
    Paraphrase("猫粮", "Dry food for cats, two kilos, chicken"),
    Paraphrase("面试时间", "Your job interview takes place Monday at ten"),
    Paraphrase("癌症研究", "A new study on tumours was published in Nature"),
)  # fmt: skip

ENGLISH = (
    Paraphrase("authentication setup", "Configure the login system for new users"),
    Paraphrase("fix bug", "Resolved an error in the checkout page"),
    Paraphrase("kids are sick", "Both children have a fever and stay home"),
    Paraphrase("cheap holidays", "Budget travel deals for the summer"),
    Paraphrase("laptop will not start", "Notebook fails to boot, black screen"),
    Paraphrase("salary increase", "Your pay goes up by four percent"),
    Paraphrase("weather tomorrow", "Sunny with light showers in the evening, 18 degrees"),
    Paraphrase("dog food", "Two bags of kibble for the puppy"),
    Paraphrase("car repair", "The mechanic replaced the brakes and the clutch"),
    Paraphrase("slow query", "The database takes nine seconds to answer this select"),
    Paraphrase("quit my job", "I handed in my resignation this morning"),
    Paraphrase("movie night", "Let us watch a film on Friday"),
    Paraphrase("headache medicine", "Ibuprofen 400 mg against migraine"),
    Paraphrase("wedding", "They got married in a small chapel"),
    Paraphrase("stock crash", "Shares plunged as markets fell worldwide"),
    Paraphrase("password reset", "Follow the link to choose new credentials"),
    Paraphrase("parcel tracking", "Your package has left the depot in Leeds"),
    Paraphrase("vegetarian dinner", "Lentil curry with spinach, no meat"),
    Paraphrase("money laundering", "Bank fined over suspicious cash transfers"),
    Paraphrase("house price", "Property in this area costs half a million"),
    Paraphrase("unit testing", "Assertions for each function run on every commit"),
    Paraphrase("earthquake", "A strong tremor of magnitude six shook the coast"),
    Paraphrase("learn to drive", "Booked lessons behind the wheel with an instructor"),
    Paraphrase("gardening", "Prune the roses and mow the lawn in spring"),
    Paraphrase("cyber attack", "Hackers broke into the servers and stole data"),
)  # fmt: skip

KINDS: dict[str, tuple[Paraphrase, ...]] = {
    "zh": CHINESE,
    "en to zh": ENGLISH_TO_CHINESE,
    "zh to en": CHINESE_TO_ENGLISH,
    "en": ENGLISH,
}
