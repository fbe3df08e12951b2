"""Chinese: textbook sentences for every construction."""

from typing import Any

import pytest

from isoglot.languages.grammars.chinese import Chinese
from isoglot.languages.meaning import Asked, Both, Clause, Link, Meaning, Name, Pronoun, Thing, Wording, number_units
from tests.languages.chinese_said import BOOK, BREAD, a, act, prop, said


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        # aspect: 了 after what happened, nothing on states, 着 on what is worn, 会 or 将 ahead
        (act("eat", "child", BREAD), "孩子吃了面包。"),
        (act("eat", "child", BREAD, tense="present"), "孩子吃面包。"),
        (act("eat", "child", BREAD, tense="future"), "孩子将吃面包。"),
        (act("eat", "child", BREAD, tense="future", negative=True), "孩子不会吃面包。"),
        (act("eat", "child", BREAD, negative=True), "孩子没有吃面包。"),
        (act("eat", "child", BREAD, tense="present", negative=True), "孩子不吃面包。"),
        (act("eat", "child", BREAD, frequency="often"), "孩子经常吃面包。"),
        (act("eat", "child", BREAD, frequency="every_day", tense="present"), "孩子每天都吃面包。"),
        (act("eat", "child", BREAD, tense="present", time="now"), "孩子现在正在吃面包。"),
        (act("eat", "child", BREAD, tense="present", time="now", place="kitchen"), "孩子现在正在厨房里吃面包。"),
        (act("eat", "child", BREAD, tense="present", time="now", negative=True), "孩子现在没有在吃面包。"),
        (act("love", "prince", "princess"), "王子爱公主。"),
        (act("love", "prince", "princess", negative=True), "王子不爱公主。"),
        (act("find", "detective", "key", tense="present", negative=True), "侦探没有找到钥匙。"),
        (act("wake_up", "baby", tense="present", time="now"), "婴儿现在醒来了。"),
        (act("wake_up", "baby", tense="present", time="in_the_morning"), "婴儿早上醒来。"),
        (act("wear", "queen", a("crown")), "女王戴着一顶王冠。"),
        (act("wear", "queen", a("dress"), negative=True), "女王没有穿连衣裙。"),
        (act("sing", "singer"), "歌手唱歌了。"),
        (act("sing", "singer", place="church"), "歌手在教堂里唱歌。"),
        # time, place, instrument, manner: all before the verb
        (act("sell", "baker", BREAD, place="market", time="yesterday"), "面包师昨天在市场里卖了面包。"),
        (
            act("cut", "cook", BREAD, place="kitchen", instrument=a("knife"), manner="carefully"),
            "厨师在厨房里用刀仔细地切了面包。",
        ),
        (act("sleep", "cat", place="sofa", manner="well"), "猫在沙发上好好地睡觉。"),
        (act("play_music", "girl", a("piano"), manner="well"), "女孩出色地演奏了钢琴。"),
        (act("live", "king", place="castle"), "国王住在城堡里。"),
        (act("live", "king", place=Name("Paris")), "国王住在巴黎。"),
        (act("arrive", "train", place="station"), "火车到达了车站。"),
        (act("leave", "train", place="station"), "火车离开了车站。"),
        # goals
        (act("go", "pupil", goal="school"), "小学生去了学校。"),
        (act("run", "dog", goal="forest"), "狗跑到了森林里。"),
        (act("go", "cow", goal="river", tense="present", negative=True), "母牛不去河边。"),
        (act("climb", "goat", goal="mountain"), "山羊爬上了山。"),
        # recipients
        (act("give", "mother", BOOK, recipient="child"), "母亲给了孩子一本书。"),
        (act("give", "mother", "book", recipient="child"), "母亲把书给了孩子。"),
        (act("send", "secretary", a("letter"), recipient="boss"), "秘书给老板寄了一封信。"),
        (
            act("send", "secretary", Pronoun(3, of=Thing("letter")), recipient="boss", negative=True),
            "秘书没有把它寄给老板。",
        ),
        (act("tell", "grandmother", a("story"), recipient=Pronoun(1)), "祖母给我讲了一个故事。"),
        (act("tell", "witness", "secret", recipient="judge"), "证人把秘密告诉了法官。"),
        # the verb that goes with its object
        (act("cut", "worker", "tree"), "工人砍了树。"),
        (act("visit", "doctor", Name("Anna")), "医生看望了安娜。"),
        (act("milk_cow", "farmer", "cow"), "农民给母牛挤奶了。"),
        (act("pay", "boss", "worker"), "老板给工人付款了。"),
        # noun phrases
        (act("see", "king", a("horse", plural=True, count=2)), "国王看见了两匹马。"),
        (act("see", "king", a("horse", plural=True, count=12, adjective="white")), "国王看见了十二匹白马。"),
        (act("see", "king", Thing("child", plural=True)), "国王看见了孩子们。"),
        (act("see", "king", a("child", plural=True)), "国王看见了一些孩子。"),
        (act("see", a("king"), a("elephant", adjective="big")), "一位国王看见了一头大的大象。"),
        (act("read", "king", a("book", adjective="good")), "国王读了一本好书。"),
        (act("read", "king", Thing("book", adjective="good")), "国王读了好的书。"),
        (act("drink", "king", a("coffee", adjective="strong")), "国王喝了浓咖啡。"),
        (act("see", "king", a("river", adjective="long")), "国王看见了一条长长的河。"),
        (act("buy", "king", BOOK, negative=True), "国王没有买书。"),
        (act("meet", Both(Thing("king"), Name("Anna Weber")), Name("Terra")), "国王和安娜·韦伯遇见了泰拉公司。"),
        # pronouns, by what they stand for
        (act("see", Pronoun(3, of=Name("Anna")), Pronoun(3, of=Thing("dog"))), "她看见了它。"),
        (act("see", Pronoun(3, True, Thing("nurse")), Pronoun(3, True, Thing("dog"))), "她们看见了它们。"),
        (act("see", Pronoun(1, plural=True), Pronoun(3, True, Thing("king"))), "我们看见了他们。"),
        (act("see", Pronoun(2, plural=True), Pronoun(3, of=Name("Terra"))), "你们看见了它。"),
        # properties
        (prop("big", "house"), "房子很大。"),
        (prop("big", "house", negative=True), "房子不大。"),
        (prop("big", "house", tense="future"), "房子会很大。"),
        (prop("red", "apple", tense="present"), "苹果是红的。"),
        (prop("red", "apple", tense="present", negative=True), "苹果不是红的。"),
        (prop("open", "door"), "门开着。"),
        (prop("open", "door", negative=True), "门没有开着。"),
        (prop("broken", "lamp"), "灯坏了。"),
        (prop("broken", "lamp", negative=True), "灯没有坏。"),
        (prop("blue", "sea"), "海是蔚蓝的。"),
        # classes and places
        (Clause("class", "", a("dog"), a("animal"), tense="present"), "狗是一种动物。"),
        (Clause("class", "", a("dog"), a("plant"), tense="present", negative=True), "狗不是植物。"),
        (Clause("class", "", a("baker"), a("person"), tense="present"), "面包师是人。"),
        (Clause("class", "", Name("Anna"), a("doctor"), tense="present"), "安娜是一位医生。"),
        (Clause("location", "", Thing("dog"), place=Thing("garden")), "狗在花园里。"),
        (Clause("location", "", Thing("dog"), place=Name("Paris"), negative=True), "狗不在巴黎。"),
        (Clause("location", "", Thing("dog"), place=Thing("table"), tense="future"), "狗会在桌子上。"),
        # complements
        (act("say", "doctor", complement=act("sleep", "baby", tense="future")), "医生说婴儿将睡觉。"),
        (act("think", "doctor", complement=prop("young", "king"), negative=True), "医生不认为国王很年轻。"),
    ],
)
def test_a_statement(chinese: Chinese, clause: Clause, text: str) -> None:
    assert said(chinese, clause).text == text


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (act("sell", "baker", BREAD), "面包师卖了面包吗？"),
        (act("sell", "baker", BREAD, negative=True), "面包师没卖面包吗？"),
        (act("sell", "baker", BREAD, tense="future"), "面包师会卖面包吗？"),
        (act("sleep", "baby"), "婴儿睡觉了吗？"),
        (act("sell", Asked("who"), BREAD), "谁卖了面包？"),
        (act("sell", "baker", Asked("what")), "面包师卖了什么？"),
        (act("visit", "tourist", Asked("who")), "游客看望了谁？"),
        (act("sell", "baker", BREAD, place=Asked("where")), "面包师在哪里卖了面包？"),
        (act("go", "baker", goal=Asked("where")), "面包师去了哪里？"),
        (act("live", "baker", place=Asked("where"), tense="present"), "面包师住在哪里？"),
        (Clause("location", "", Thing("dog"), place=Asked("where"), tense="present"), "狗在哪里？"),
        (prop("big", "house", tense="present"), "房子大吗？"),
        (prop("red", "apple", tense="present"), "苹果是红的吗？"),
        (Clause("class", "", a("dog"), a("animal"), tense="present"), "狗是一种动物吗？"),
    ],
)
def test_a_question(chinese: Chinese, clause: Clause, text: str) -> None:
    assert said(chinese, clause, question=True, talk=True).text == text


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Thing("house", relative=act("build", "carpenter", None), gap="patient"), "木匠建造的房子很大。"),
        (
            Thing("house", plural=True, count=3, relative=act("build", "carpenter", None), gap="patient"),
            "木匠建造的三座房子很大。",
        ),
        (Thing("king", relative=act("love", None, "queen", tense="present")), "爱女王的国王很大。"),
        (Thing("king", relative=act("buy", None, BOOK, time="yesterday")), "昨天买了一本书的国王很大。"),
        (Thing("friend", relative=act("meet_up", None, place="park")), "在公园里见面的朋友很大。"),
        (Thing("dog", relative=Clause("location", "", None, place=Thing("garden"))), "在花园里的狗很大。"),
        (Thing("apple", relative=prop("red", None)), "红的苹果很大。"),
        (Thing("cow", relative=act("milk_cow", "farmer", None), gap="patient"), "农民给它挤奶的母牛很大。"),
    ],
)
def test_a_relative_clause(chinese: Chinese, thing: Thing, text: str) -> None:
    assert said(chinese, prop("big", thing)).text == text


def test_an_indefinite_one_is_counted_before_its_relative_clause(chinese: Chinese) -> None:
    king = a("king", relative=act("love", None, "queen", tense="present"))
    assert said(chinese, act("see", "dog", king)).text == "狗看见了一位爱女王的国王。"


@pytest.mark.parametrize(
    ("link", "talk", "first", "text"),
    [
        ("and", False, False, "狗看见了一匹马，而孩子哭了。"),
        ("and", True, False, "狗看见了一匹马，孩子哭了。"),
        ("but", False, False, "狗看见了一匹马，但是孩子哭了。"),
        ("because", False, False, "狗看见了一匹马，因为孩子哭了。"),
        ("because", False, True, "因为孩子哭了，所以狗看见了一匹马。"),
        ("although", False, False, "狗看见了一匹马，尽管孩子哭了。"),
        ("although", False, True, "虽然孩子哭了，但是狗看见了一匹马。"),
        ("when", False, False, "当孩子哭时，狗看见了一匹马。"),
        ("when", False, True, "当孩子哭时，狗看见了一匹马。"),
        ("when", True, False, "孩子哭的时候，狗看见了一匹马。"),
    ],
)
def test_two_clauses(chinese: Chinese, link: Link, talk: bool, first: bool, text: str) -> None:
    main = act("see", "dog", a("horse"))
    assert said(chinese, main, link, act("cry", "child"), talk=talk, link_first=first).text == text


@pytest.mark.parametrize(
    ("link", "first", "text"),
    [
        ("and", False, "国王哭了，并且看见了一匹马。"),
        ("but", False, "国王哭了，但是他看见了一匹马。"),
        ("when", False, "当看见一匹马时，国王哭了。"),
        ("because", True, "因为看见了一匹马，所以国王哭了。"),
        ("because", False, "国王哭了，因为他看见了一匹马。"),
    ],
)
def test_a_subject_said_once(chinese: Chinese, link: Link, first: bool, text: str) -> None:
    he = Pronoun(3, of=Thing("king"))
    assert said(chinese, act("cry", "king"), link, act("see", he, a("horse")), link_first=first).text == text


def test_the_time_may_come_first(chinese: Chinese) -> None:
    first = Wording(time_first=True)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"time": "in_the_morning"}, "早上孩子吃面包。"),
        ({"frequency": "every_day"}, "每天孩子都吃面包。"),
        ({"frequency": "often"}, "孩子经常吃面包。"),
        ({"time": "in_the_evening", "frequency": "every_day"}, "每天晚上孩子都吃面包。"),
    ]
    for more, text in cases:
        clause = act("eat", "child", BREAD, tense="present", **more)
        assert chinese.render(number_units(Meaning(clause)), first).text == text


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        # what is told as it happens has no 了, so that it differs from what happened
        (act("win", "runner", "race", tense="present"), "跑步者赢得赛跑。"),
        (act("win", "runner", "race"), "跑步者赢得了赛跑。"),
        (act("run", "horse", goal="house", tense="present", time="today"), "马今天跑到房子里。"),
        (act("run", "horse", goal="house", tense="present", time="today", negative=True), "马今天没有跑到房子里。"),
        (act("fall", "rain", tense="present", time="now"), "雨现在正在落下。"),
        (act("leave", "guest", tense="present", time="now"), "客人现在正在离开。"),
        (act("eat", "child", BREAD, tense="present", time="today"), "孩子今天在吃面包。"),
        # one syllable alone is no predicate
        (act("cry", "baby", tense="present"), "婴儿在哭。"),
        (act("laugh", "child", tense="future"), "孩子会笑。"),
        (act("say", "child", tense="present", complement=act("cry", "baby")), "孩子说婴儿哭了。"),
        # 不会唱歌 is *cannot sing*; 很快 asks for 就
        (act("sing", "singer", tense="future", negative=True), "歌手将不会唱歌。"),
        (act("sing", "singer", tense="future", negative=True, time="tomorrow"), "歌手明天不会唱歌。"),
        (act("eat", "child", BREAD, tense="future", time="soon"), "孩子很快就会吃面包。"),
        # some; a kind; that country
        (act("push", a("boy", plural=True), a("car")), "一些男孩推了一辆汽车。"),
        (act("push", a("boy", plural=True), a("car"), frequency="often"), "男孩经常推汽车。"),
        (act("love", a("boy", plural=True), a("song", plural=True)), "男孩爱歌。"),
        (act("steal", a("fox", plural=True), a("hen", plural=True), tense="present"), "狐狸偷母鸡。"),
        (act("read", "king", a("book", plural=True, adjective="good")), "国王读了一些好书。"),
        (act("visit", "king", "country"), "国王访问了那个国家。"),
        (act("visit", "king", Thing("country", plural=True)), "国王访问了那些国家。"),
        # places to go to
        (act("travel_v", "sailor", goal="island"), "水手前往了岛上。"),
        (act("travel_v", "sailor", goal="desert"), "水手前往了沙漠。"),
        # words that go together
        (act("eat", "man", "soup"), "男人喝了汤。"),
        (act("wash", "man", "dog"), "男人给狗洗澡了。"),
        (act("pay", "guest", "ticket"), "客人为票付款了。"),
        (act("follow", "dog", "path"), "狗沿着路走了。"),
        (act("die", "flower"), "花枯萎了。"),
        (act("die", "king"), "国王死去了。"),
        (act("visit", "king", Both(Thing("museum"), Thing("friend"))), "国王访问了博物馆和朋友。"),
        (act("wear", "queen", Both(Thing("crown"), Thing("dress"))), "女王穿戴着王冠和连衣裙。"),
        (act("cook", "man", Thing("rice", adjective="good")), "男人煮了好吃的米饭。"),
        (act("buy", "man", Thing("flour", adjective="bad")), "男人买了劣质的面粉。"),
        (prop("bad", "soup"), "汤很难喝。"),
        (prop("broken", "cup"), "杯子碎了。"),
        (act("see", "man", Thing("dragon", adjective="dirty")), "男人看见了脏的龙。"),
        (act("see", "man", Thing("child", adjective="small")), "男人看见了幼小的孩子。"),
        # manner
        (act("climb", "cat", goal="tower", manner="carefully"), "猫小心地爬上了塔。"),
        (act("steal", "thief", "ring", manner="quietly"), "小偷悄悄地偷了戒指。"),
        (act("sleep", "baby", manner="quietly"), "婴儿安静地睡觉。"),
        (act("grow", "tree", manner="well"), "树茁壮地生长。"),
        (act("work", "nurse", place="hospital", manner="well"), "护士在医院里出色地工作。"),
    ],
)
def test_what_a_native_reader_stumbled_over(chinese: Chinese, clause: Clause, text: str) -> None:
    assert said(chinese, clause).text == text


@pytest.mark.parametrize(
    ("clause", "question", "text"),
    [
        (act("repair", Pronoun(1), "clock", tense="present"), False, "我在修理钟。"),
        (act("repair", Pronoun(1), "clock", tense="present", negative=True), False, "我没在修理钟。"),
        (act("repair", Pronoun(1), "clock", tense="present", time="in_the_morning"), False, "我早上修理钟。"),
        (act("repair", Pronoun(1), "clock", tense="present", place="house"), False, "我在房子里修理钟。"),
        (act("give", Pronoun(1), BOOK, recipient="child", tense="present"), False, "我给孩子一本书。"),
        (act("burn", "fire", tense="present"), True, "火在燃烧吗？"),
        (act("win", "player", "medal", tense="present"), True, "球员赢得了奖牌吗？"),
        (act("sing", "singer", tense="future"), True, "歌手将会唱歌吗？"),
    ],
)
def test_in_conversation_the_present_goes_on(chinese: Chinese, clause: Clause, question: bool, text: str) -> None:
    assert said(chinese, clause, question=question, talk=True).text == text


@pytest.mark.parametrize(
    ("talk", "text"), [(False, "昨天，当孩子哭时，狗看见了一匹马。"), (True, "昨天孩子哭的时候，狗看见了一匹马。")]
)
def test_the_time_stands_before_when(chinese: Chinese, talk: bool, text: str) -> None:
    main = act("see", "dog", a("horse"), time="yesterday")
    assert said(chinese, main, "when", act("cry", "child"), talk=talk).text == text


def test_the_frequency_stands_in_its_own_clause(chinese: Chinese) -> None:
    main = act("see", "dog", a("horse"), frequency="every_day")
    assert said(chinese, main, "when", act("cry", "child")).text == "当孩子哭时，狗每天都看见马。"
