"""What sites of web novels and their authors put between the lines of a story: addresses, pleas for votes, page marks.

Whole paragraphs only, and only what no story says of itself; each is counted and the first are shown.
"""

from __future__ import annotations

import re

from jobs.book_records import CJK

LONGEST_CHARS = 100
_FRAME = re.compile(r"^[\s\-—–=~～*＊·.…_#◆★☆>《【(（\[]+|[\s\-—–=~～*＊·.…_#◆★☆<》】)）\]]+$")
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S+|(?<![\w@.-])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|cc|cn|info|la|me|tw|xyz|top|vip)(?!\w)",
    re.IGNORECASE,
)
_ABOUT_SITES = re.compile(
    "小说|小說|首发|首發|更新|本书|本書|提供|章节|章節|书友|域名|手机(?:版|阅读|用户)|电子书|txt|"
    "(?:请|請)(?:访问|訪問|登录|登陆|收藏|记住)",
    re.IGNORECASE,
)
_SOMEBODY = re.compile("[他她它我你您]")
"""Who opens a site is a person of the story."""
_SITE = re.compile(
    "(?:天才)?一秒(?:钟|鐘)?(?:记住|記住)|(?:本章|此章)(?:节|節)?(?:还没|還沒|尚)?未完|本章(?:完|结束)$|未完待(?:续|續)(?:$|[\\s，,。…~～(（])|"
    "(?:请|請)(?:记住|記住|收藏)(?:本书|本站|本書)|手机(?:用户|版)(?:请|阅读)|手機用戶請|最新网址|最新網址|"
    "(?:网友|書友|书友)(?:请|請)?提(?:示|醒)|"
    "(?:温馨|溫馨)提(?:示|醒).{0,20}(?:阅读|閱讀|本站|收藏|章节)|喜(?:欢|歡).{1,40}(?:请|請)大家收藏|"
    "(?:章节|章節)(?:错误|錯誤|报错)|点此举报|加入书签|返回目录|(?:上|下)一(?:章|页|頁)(?:$|[\\s|←→])|"
    "(?:全文|小说|小說).{0,10}无弹窗|无弹窗(?:广告|小说)|(?:笔|筆)趣(?:阁|閣)|"
    "本(?:书|書|文)由.{0,40}(?:提供|整理|制作|製作|下载|首发|上传|首發)|更多(?:精彩|好看).{0,10}(?:小说|小說|章节|阅读|閱讀)"
)
_ASIDE = re.compile(
    r"(?:p\.?\s?s\.?\s?\d?|题外话|題外話|作者(?:的话|有话说|的話|有話說)|(?:今天|今日|今晚)?第[一二三四五六七八九十\d]+更)"
    r"\s*(?:[:：,，!！~～.。、]|$)",
    re.IGNORECASE,
)
_PLEA = re.compile(
    "求(?:一?[波个点张下]|大家|各位|一切)?(?:收藏|推荐|推薦|月票|订阅|訂閱|打赏|打賞|票|鲜花|鮮花|支持|评论|評論|追读|红票|五星|好评)|"
    "月票|推荐票|推薦票|加更|[一二三四五六七八九十\\d]更|更新|书友|書友|读者群|上架|码字|碼字|打赏|打賞|收藏|订阅|訂閱"
)
_THANKS = re.compile("(?:感谢|感謝|谢谢|謝謝).{1,60}(?:打赏|打賞|月票|推荐票|推薦票|评价票|飘红)")
_BEGGING = re.compile("(?:跪|急|继续|新书|各种|新書)?求(?:收藏|推荐|推薦|月票|订阅|訂閱|打赏|打賞|票|鲜花|支持|追读)")
_SPEECH = re.compile('[“”「」『』"]')


_TITLE_PLEA = re.compile(
    r"\s*(?:[(（【\[][^()（）【】\[\]]{0,30}(?:求|月票|推荐票|推薦票|订阅|訂閱|打赏|打賞|加更|第[一二三四五六七八九十\d]+更)"
    r"[^()（）【】\[\]]{0,30}[)）】\]])\s*$"
)


def without_plea(title: str) -> str:
    """A heading without what its author asks for behind it: `第12章 雪（求月票）`."""
    return _TITLE_PLEA.sub("", title)


def is_ad(text: str) -> bool:
    """Whether a paragraph is a site's or the author's own word to the reader, not the story's."""
    if len(text) > LONGEST_CHARS or not CJK.search(text):
        return False
    framed = text.strip()
    bare = _FRAME.sub("", framed)
    if _SPEECH.search(bare) or not bare:
        return False
    if _SITE.match(bare):
        return True
    if _ADDRESS.search(bare) and _ABOUT_SITES.search(bare) and not _SOMEBODY.search(bare):
        return True
    if _ASIDE.match(bare):
        return _PLEA.search(bare) is not None
    if _BEGGING.match(bare) or _THANKS.match(bare):
        # `求票的人排了长队。` is a sentence of a story.
        return framed[:1] in "(（【[" or not framed.endswith("。")
    return False
