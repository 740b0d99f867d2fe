"""Programs that run beside a job on its machine and are hardly ever part of one: what befalls them is no word about the job."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Collection

from ..model.patterns import regex
from .case import Case
from .remembered import remembered
from .saying import saying

# By the name that the kernel has of them (at most 15 letters): of a desktop, of the system, of the site.
_NAMES = (
    r"(?:(?:google-)?chrom(?:e|ium)[\w-]*|firefox[\w-]*|thunderbird[\w-]*|(?:Isolated )?Web Co\w*|WebKit\w*|msedge|"
    r"gnome-[\w-]+|gjs|gsd-[\w-]+|gvfsd?[\w-]*|kwin\w*|plasmashell|kded\d|xfce\d?-\w+|Xorg|Xwayland|Xvnc|cinnamon|nautilus|tracker-\w+|evolution-[\w-]+|"
    r"slack|Discord|teams|zoom|spotify|skype\w*|soffice\.bin|electron|"
    r"systemd(?:-[\w-]+)?|\(sd-pam\)|dbus-daemon|polkitd|snapd|sshd|crond?|rsyslogd|auditd|chronyd|ntpd|cupsd|avahi-daemon|NetworkManager|packagekitd|unattended-upgr|"
    r"apt(?:-get|-check)?|dpkg|dnf|yum|tuned|irqbalance|fwupd|udisksd|multipathd|"
    r"mysqld|mariadbd?|postgres|mongo[ds]|redis-server|memcached|influxd|clickhouse-serv|nginx|apache2|httpd|haproxy|"
    r"amazon-ssm-agen\w*|ssm-agent-worke\w*|amazon-cloudwat\w*|google_(?:guest|osconfig|network)\w*|walinuxagent|qemu-ga|"
    r"prometheus|grafana\S*|node_exporter|dcgm-exporter|telegraf|collectd|fluent-?bit|fluentd|filebeat|promtail|datadog-agent|falcon-sensor\S*|clamd|"
    r"dockerd|containerd\S*|kubelet|kube-proxy|calico-node|coredns|etcd)"
)  # fmt: skip
# Whom the kernel killed, who crashed (kernel, systemd-coredump(8), ``coredumpctl list``), whose socket or pod is listed (ss(8), netstat(8), lsof(8), kubectl).
_VICTIM = regex(
    r"[Oo]ut of memory: Kill(?:ed)? process \d+(?:, UID \d+,)? \((?P<killed>[^)]+\)?)\)|\boom-kill:constraint[^\n]*\btask=(?P<task>[^,]+),pid="
)
_ABOUT = regex(
    rf"\boom_reaper: reaped process \d+ \({_NAMES}\)|(?:^|\s){_NAMES}(?:\[\d+\]:? (?:segfault at|general protection|trap )| invoked oom-killer)|"
    rf"\bProcess \d+ \({_NAMES}\) of user \d+ (?:dumped core|terminated abnormally)|"
    rf"^[A-Z][a-z]{{2}} \d{{4}}-\d\d-\d\d [\d:]{{8}} \S+(?: +\d+){{3}} +\w+ +[\w*-]+ +/\S*/{_NAMES}(?:\s|$)|"
    rf"^{_NAMES}(?:-[\w-]+)? +\d+/\d+ +OOMKilled |"
    rf"\busers:\(\(\"{_NAMES}\"|\s\d+/{_NAMES}:?\s*$|^{_NAMES} +\d+ +\S+ +\d+\w* +IPv[46] "
)
# What is in each of these: most lines of a log need not be compared with all of the names.
_TOLD = regex(
    r"oom|[Oo]ut of memory|OOMKilled|segfault at|general protection|trap |dumped core|terminated abnormally|users:\(\(|IPv[46]|"
    r"^[A-Z][a-z]{2} \d{4}-|\d/[^\s/]+\s*$"
)
_NAME = regex(_NAMES)
# Those that a job may ask for something: of what else is told, a word names it then.
_ASKED_FOR = regex(
    r"chrom|firefox|mysql|mariadb|postgres|mongo|redis|memcache|influx|clickhouse|nginx|apache|httpd|haproxy|etcd",
    re.IGNORECASE,
)
# The kernel says who asked for the page that was not there, then whom it killed.
_ASKED = regex(r"\binvoked oom-killer\b")


@remembered
def about_strangers(case: Case) -> frozenset[tuple[str, int]]:
    """The lines, by file and number, that tell what befell a program beside the job."""
    found = set()
    asked: dict[str, int] = {}
    for event in saying(case, _TOLD):
        place = (event.file, event.line)
        victim = _VICTIM.search(event.text)
        if victim is None:
            if _ASKED.search(event.text):
                asked[event.file] = event.line
            if _ABOUT.search(event.text):
                found.add(place)
        elif _NAME.fullmatch(victim["killed"] or victim["task"]):
            found.add(place)
            if event.file in asked:
                found.add((event.file, asked[event.file]))
        else:
            asked.pop(event.file, None)
    return frozenset(found) - _of_the_job(case, found)


def _of_the_job(case: Case, found: Collection[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    """Those of the lines that tell of a program which another line names."""
    names: dict[tuple[str, int], set[str]] = {}
    for event in case.events if found else ():
        names.setdefault((event.file, event.line), set()).update(map(str.lower, _ASKED_FOR.findall(event.text)))
    named = set().union(*(said for place, said in names.items() if place not in found))
    return frozenset(place for place in found if names[place] & named)
