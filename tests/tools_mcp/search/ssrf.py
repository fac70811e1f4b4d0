"""Addresses that a fetch must never connect to, however they are written."""

# ruff: noqa: RUF001 - letters that look like others are the point

NEVER_FETCHED = (
    # loopback, this host, names for it
    *("http://127.0.0.1/", "http://127.0.0.2:80/", "http://127.255.255.254/", "http://localhost/", "http://LOCALHOST/"),
    *("http://localhost./", "http://a.localhost/", "http://0.0.0.0/", "http://0/", "http://[::1]/", "http://[::]/"),
    # the same in notations that some parsers read as an address
    *("http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/"),
    *("http://0x7f.0.0.1/", "http://017700000001/", "http://127.0.0.1./", "http://127.0.0.0x1/", "http://0x/"),
    *("http://4294967297/", "http://127.0.0.1../", "http://1.2.3.4.5/", "http://0x5db8d70e/", "http://999.1.1.1/"),
    # the same in other letters
    *(
        "http://１２７.0.0.1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http://ⓛocalhost/",
        "http://loc\u00adalhost/",
    ),
    # IPv4 inside IPv6, tunnels, translations
    *("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/"),
    *(
        "http://[64:ff9b::8.8.8.8]/",
        "http://[64:ff9b:1::a00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2002:808:808::]/",
    ),
    *(
        "http://[2001:0:808:808::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::ffff:0:8.8.8.8]/",
    ),
    # private, link-local, shared, reserved, multicast
    *("http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/", "http://100.64.0.1/"),
    *("http://169.254.0.1/", "http://198.18.0.1/", "http://192.0.2.1/", "http://224.0.0.1/", "http://240.0.0.1/"),
    *("http://255.255.255.255/", "http://[fc00::1]/", "http://[fd00::1]/", "http://[fe80::1]/", "http://[ff02::1]/"),
    *("http://[fec0::1]/", "http://[100::1]/", "http://[2001:db8::1]/", "http://[5f00::1]/", "http://[3fff::1]/"),
    # metadata services
    *("http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://metadata.google.internal/"),
    *(
        "http://100.100.100.200/",
        "http://192.0.0.192/",
        "http://168.63.129.16/",
        "http://metadata/",
        "http://2852039166/",
    ),
    # names of a network at home or at work
    *(
        "http://router.lan/",
        "http://printer.local/",
        "http://wiki.internal/",
        "http://intranet/",
        "http://nas.home.arpa/",
    ),
    *("http://x.onion/", "http://db.corp/", "http://host.docker.internal/"),
    # user names, escapes, separators that two parsers read in two ways
    *(
        "http://example.org@127.0.0.1/",
        "http://a:b@example.org/",
        "http://127.0.0.1%2f@example.org/",
        "http://@example.org/",
    ),
    *(
        "http://%31%32%37.0.0.1/",
        "http://localhos%74/",
        "http://example.org%00.x.org/",
        "http://example.org\\@127.0.0.1/",
    ),
    *(
        "http:\\\\127.0.0.1/",
        "http://127.0.0.1\t/",
        "http://exa\nmple.org/",
        "http://example.org /",
        "http://exam ple.org/",
    ),
    *("http://example.org\u2044@x.org/", "http://[::1/", "http://::1/", "http://[127.0.0.1]/", "http://[v1.x]/"),
    # ports that are not the web's
    *("http://example.org:22/", "http://example.org:443/", "https://example.org:80/", "http://example.org:6379/"),
    *("http://example.org:0/", "http://example.org:65536/", "http://example.org:-1/", "http://example.org:x/"),
    # other schemes, no address
    *("file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1:70/", "javascript:alert(1)", "data:text/html,x"),
    *(
        "http:///x",
        "http://",
        "http:example.org",
        "//example.org/",
        "example.org",
        "",
        "http://.",
        "http://..",
        "http://-a.org",
    ),
    *("http://a..org/", f"http://{'a' * 64}.org/", f"http://{'a.' * 130}org/", f"http://example.org/{'a' * 2000}"),
)

NOT_PUBLIC = (
    *("0.1.2.3", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "169.254.169.254"),
    *("172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.9", "192.88.99.1", "192.168.255.255"),
    *("198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1"),
    *("255.255.255.255", "168.63.129.16", "::", "::1", "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::808:808"),
    *("64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:808:808::1", "3fff::1"),
    *("5f00::1", "fc00::1", "fdff::1", "fe80::1", "fe80::1%1", "2606:2800:21f::1%1", "fec0::1", "ff02::1", "ff0e::1"),
    *("0." * 3 + "0", "", "x", "127.1", "0x7f000001", "010.8.8.8"),
)

PUBLIC_ADDRESSES = (
    *("8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1"),
    *(
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "2001:4860::8888",
    ),
)
