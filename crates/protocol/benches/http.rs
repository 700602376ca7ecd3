//! The cost of inspecting a request, without the cost of the parser after it.

use divan::{Bencher, black_box, counter::BytesCount};
use millrace_protocol::http::{Inspector, InspectorConfig};

fn main() {
    divan::main();
}

const SHORT: &str = "GET /file.txt HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: */*\r\n\r\n";

const BROWSER: &str = "GET /api/items?page=2&size=50 HTTP/1.1\r\nHost: www.example.com\r\nConnection: keep-alive\r\n\
    sec-ch-ua: \"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\n\
    sec-ch-ua-platform: \"Linux\"\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like \
    Gecko) Chrome/130.0.0.0 Safari/537.36\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,\
    image/avif,image/webp,*/*;q=0.8\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\n\
    Referer: https://www.example.com/items\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
    Accept-Language: en-GB,en;q=0.9\r\nCookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n";

#[divan::bench]
fn short_head(bencher: Bencher<'_, '_>) {
    head(bencher, SHORT);
}

#[divan::bench]
fn head_of_a_browser(bencher: Bencher<'_, '_>) {
    head(bencher, BROWSER);
}

fn head(bencher: Bencher<'_, '_>, request: &str) {
    let config = InspectorConfig::default();
    bencher
        .counter(BytesCount::of_str(request))
        .bench_local(|| Inspector::new().inspect(black_box(request.as_bytes()), &config));
}

#[divan::bench]
fn body_of_64_kib(bencher: Bencher<'_, '_>) {
    let config = InspectorConfig::default();
    let mut request = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..16 {
        request.extend_from_slice(b"1000\r\n");
        request.extend_from_slice(&[b'x'; 4096]);
        request.extend_from_slice(b"\r\n");
    }
    bencher
        .counter(BytesCount::of_slice(&request))
        .bench_local(|| Inspector::new().inspect(black_box(&request), &config));
}
