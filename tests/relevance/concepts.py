"""What the made-up screens are about: each concept in several wordings, and how people ask for it.

``{e}`` is a name (a customer, a project, a place). The first two wordings share words with the first
question; the last question shares none with most of them, so that words alone cannot answer it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concept:
    wordings: tuple[str, ...]
    questions: tuple[str, ...]


ENGLISH_NAMES = ("Halvorsen", "Brightwater", "Kestrel", "Oakridge", "Tamarind")
CHINESE_NAMES = ("青禾", "远帆", "云杉", "白鹭", "松江")

ENGLISH = (
    Concept(
        ("Invoice from {e} is overdue since March", "Reminder: the {e} invoice has not been paid",
         "{e} still owes us the money for the last bill", "No payment has arrived from {e} yet"),
        ("{e} invoice", "{e} overdue invoice", "{e} unpaid bill"),
    ),
    Concept(
        ("{e} login fails with wrong password", "Users of {e} cannot login after the update",
         "Signing in to {e} is refused although the credentials are right", "{e} authentication returns 401"),
        ("{e} login", "{e} login password", "{e} cannot sign in"),
    ),
    Concept(
        ("Flight to {e} is booked for Tuesday", "Your boarding pass for the flight to {e}",
         "The plane to {e} leaves at 7:45 from gate 12", "Travel itinerary: airport transfer in {e}"),
        ("flight {e}", "{e} flight Tuesday boarding", "air travel to {e}"),
    ),
    Concept(
        ("{e} release crashed with an out of memory error", "Memory error in the {e} worker, process killed",
         "The {e} service uses more and more RAM until it dies", "Leak found: {e} never frees its buffers"),
        ("{e} memory error", "{e} crashed memory", "{e} leaking RAM"),
    ),
    Concept(
        ("Contract with {e} ends in June", "Please sign the {e} contract before Friday",
         "The agreement with {e} expires this summer", "Lawyers reviewed the terms for {e}"),
        ("{e} contract", "sign {e} contract", "{e} legal agreement"),
    ),
    Concept(
        ("Doctor appointment at the {e} clinic on Monday", "The {e} clinic moved your appointment",
         "Dentist visit in {e} next week at nine", "{e} hospital: bring your insurance card"),
        ("{e} appointment", "{e} clinic appointment", "medical visit {e}"),
    ),
    Concept(
        ("Salary review for the {e} team", "{e} salary bands for next year",
         "How much people at {e} earn after the raise", "Compensation at {e} rises by four percent"),
        ("{e} salary", "salary review {e}", "{e} pay raise"),
    ),
    Concept(
        ("{e} database backup failed last night", "Restore the {e} database from the backup",
         "The nightly copy of {e} data did not finish", "Recover lost {e} tables from the snapshot"),
        ("{e} database backup", "{e} backup failed", "{e} data recovery"),
    ),
    Concept(
        ("Recipe for {e} bread with rye flour", "{e} bread: knead the dough and let it rest",
         "How to bake a {e} loaf at home", "Sourdough starter of {e}, feed it twice a day"),
        ("{e} bread recipe", "{e} dough bread", "baking {e} loaf"),
    ),
    Concept(
        ("Meeting with {e} moved to Thursday", "Agenda of the {e} meeting: budget and staff",
         "We talk with {e} again on Thursday at ten", "Call with the {e} people is postponed"),
        ("{e} meeting", "{e} meeting agenda", "{e} call rescheduled"),
    ),
    Concept(
        ("{e} server is down, users see 502", "The {e} server went down at midnight",
         "Outage: nobody can reach {e}", "{e} is unavailable, incident opened"),
        ("{e} server down", "{e} server", "{e} outage"),
    ),
    Concept(
        ("Rent an apartment in {e} with two rooms", "{e} apartment: rent and deposit",
         "Flat near {e} station, available from May", "Landlord in {e} asks for three months in advance"),
        ("{e} apartment", "rent apartment {e}", "{e} flat housing"),
    ),
    Concept(
        ("{e} test suite is slow, 40 minutes", "Slow {e} tests block every merge",
         "The {e} pipeline takes far too long", "Speed up continuous integration of {e}"),
        ("{e} slow tests", "{e} tests", "{e} CI performance"),
    ),
    Concept(
        ("Customer {e} complains about late delivery", "{e} delivery is late again",
         "The parcel for {e} has not arrived", "{e} is angry: the shipment is delayed by a week"),
        ("{e} late delivery", "{e} delivery", "{e} shipping delay"),
    ),
    Concept(
        ("Deploy {e} to production tonight", "{e} production deploy needs an approval",
         "Rollout of {e} to all customers begins at ten", "We ship {e} to the live environment"),
        ("deploy {e}", "{e} production deploy", "{e} going live"),
    ),
    Concept(
        ("Train for the {e} marathon: long run on Sunday", "{e} marathon plan, week nine",
         "Running 30 kilometres along the {e} river", "Jogging schedule before the {e} race"),
        ("{e} marathon", "{e} marathon plan", "{e} running training"),
    ),
    Concept(
        ("Security hole in {e} lets strangers read files", "{e} security update is urgent",
         "Vulnerability reported: {e} leaks private documents", "Patch {e} at once, attackers exploit it"),
        ("{e} security", "{e} security hole update", "{e} vulnerability"),
    ),
    Concept(
        ("Interview with the {e} candidate at two", "Feedback on the {e} interview: hire",
         "The applicant from {e} did well in the coding round", "Recruiting: second talk with {e}"),
        ("{e} interview", "{e} candidate interview", "{e} job applicant"),
    ),
    Concept(
        ("Chart of {e} sales by quarter", "{e} sales grew by twelve percent",
         "Revenue of {e} is up compared to last year", "How much {e} sold: a table by region"),
        ("{e} sales", "{e} sales quarter", "{e} revenue growth"),
    ),
    Concept(
        ("Piano lesson with Mrs {e} at five", "Practise the piano piece for {e}",
         "{e} teaches scales and chords on the keyboard", "Music homework from {e}: the left hand alone"),
        ("{e} piano", "{e} piano lesson", "{e} learning an instrument"),
    ),
)  # fmt: skip

CHINESE = (
    Concept(
        ("{e}的发票已经逾期", "请尽快支付{e}发票", "{e}还没有付款", "{e}上个月的账单仍未结清"),
        ("{e}发票", "{e} 发票 逾期", "{e}账单"),
    ),
    Concept(
        ("{e}登录失败密码错误", "更新以后无法登录{e}", "{e}提示账号验证不通过", "{e}进不去一直显示未授权"),
        ("{e}登录", "登录失败 {e}", "{e}账号"),
    ),
    Concept(
        ("飞往{e}的航班改到周二", "{e}航班登机牌", "去{e}的飞机七点四十五起飞", "{e}出差行程和机场接送"),
        ("{e}航班", "{e} 航班 周二", "{e}飞机"),
    ),
    Concept(
        ("{e}合同六月到期", "周五之前签{e}合同", "和{e}的协议今年夏天结束", "律师看过{e}的条款"),
        ("{e}合同", "签 {e} 合同", "{e}协议"),
    ),
    Concept(
        ("{e}服务器宕机用户看到错误", "午夜{e}服务器停了", "大家都打不开{e}", "{e}故障正在处理"),
        ("{e}服务器", "{e} 服务器 宕机", "{e}故障"),
    ),
    Concept(
        ("{e}会议改到周四", "{e}会议议程预算和人员", "周四十点再和{e}讨论", "和{e}的电话推迟了"),
        ("{e}会议", "{e} 会议 预算", "{e}讨论"),
    ),
    Concept(
        ("{e}销售额按季度统计", "{e}销售增长百分之十二", "{e}今年收入高于去年", "{e}各地区卖了多少"),
        ("{e}销售", "{e} 销售 季度", "{e}收入"),
    ),
    Concept(
        ("租{e}两室公寓", "{e}公寓租金和押金", "{e}地铁站旁边的房子五月可住", "{e}房东要求预付三个月"),
        ("{e}公寓", "{e} 公寓 租金", "{e}房子"),
    ),
)  # fmt: skip

FURNITURE = (
    "File Edit View Help", "Search messages and files", "Home Inbox Starred Sent Drafts", "Line 14, Column 3",
    "Today Yesterday Last week", "New tab Bookmarks History", "100% Page 1 of 3", "Connected to the network",
    "Reply Forward Archive", "Settings Profile Log out", "首页 消息 设置", "文件 编辑 视图 帮助",
    "今天 昨天 上周", "The weather stays mild until the weekend", "Lunch menu: soup, pasta",
)  # fmt: skip
