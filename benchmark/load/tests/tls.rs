//! Echoes over TLS with a real server: they are verified as they are without it, whatever fits into one record or
//! into one write, and a server without the expected certificate is refused.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use millrace_load::dialect::Dialect;
use millrace_load::io::Io;
use millrace_load::scenario::echo::{Echo, Pace};
use millrace_load::scenario::until;
use millrace_load::tls::Trust;
use millrace_load::window::{Deadline, Windowed};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

/// Serves echoes over TLS until the process ends, one thread per connection. `fault` may alter a payload.
fn serve(fault: fn(&mut Vec<u8>)) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(file("cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).expect("a key");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a good configuration");
            thread::spawn(move || converse(StreamOwned::new(session, stream), fault));
        }
    });
    address
}

/// One connection, until it ends.
fn converse(mut stream: impl Read + Write, fault: fn(&mut Vec<u8>)) -> Option<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.extend(take(&mut stream, 1)?);
    }
    stream.write_all(ACCEPT.as_bytes()).ok()?;
    loop {
        let head = take(&mut stream, 2)?;
        let length = match head[1] & 0x7f {
            126 => usize::from(u16::from_be_bytes(take(&mut stream, 2)?.try_into().ok()?)),
            127 => {
                let field: [u8; 8] = take(&mut stream, 8)?.try_into().ok()?;
                usize::try_from(u64::from_be_bytes(field)).ok()?
            }
            short => usize::from(short),
        };
        let key = take(&mut stream, 4)?;
        let masked = take(&mut stream, length)?
            .into_iter()
            .zip(key.iter().cycle());
        let mut payload: Vec<u8> = masked.map(|(a, b)| a ^ b).collect();
        fault(&mut payload);
        let mut frame = vec![head[0]];
        match u16::try_from(payload.len()) {
            Ok(short @ 0..=125) => frame.push(u8::try_from(short).ok()?),
            Ok(medium) => {
                frame.push(126);
                frame.extend(medium.to_be_bytes());
            }
            Err(_) => {
                frame.push(127);
                frame.extend(u64::try_from(payload.len()).ok()?.to_be_bytes());
            }
        }
        frame.extend(payload);
        stream.write_all(&frame).ok()?;
    }
}

fn take(stream: &mut impl Read, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

const ACCEPT: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Opens three connections, sends four messages on each and waits for all echoes.
fn echo(
    address: SocketAddr,
    trusted: &str,
    size: usize,
) -> Result<u64, millrace_load::failure::Failure> {
    let mut io = Io::new(address)?.over_tls(Trust::of(&file(trusted))?);
    let deadline = Deadline::within(30);
    let mut echo = Echo::new(Dialect::Plain, 3, size, Pace::Closed(4));
    echo.open(&mut io, &deadline)?;
    echo.start(&mut io)?;
    echo.stop();
    let all = |echo: &Echo| echo.outstanding() == 0;
    until(&mut io, &mut echo, &deadline, "waiting for echoes", all)?;
    assert_eq!(io.open_connections(), 3);
    io.turn(&mut echo, Duration::ZERO)?;
    Ok(echo.meter().incoming)
}

#[test]
fn echoes_of_every_size_come_back_over_tls() {
    let address = serve(|_| {});
    // within a record, of several records, and of more than a socket takes at once
    for size in [64, 1024, 4 * 1024, 16 * 1024, 64 * 1024, 128 * 1024] {
        assert_eq!(echo(address, "cert.pem", size).unwrap(), 12, "{size}");
    }
}

#[test]
fn an_altered_echo_is_a_violation_over_tls_too() {
    let address = serve(|payload| {
        if let Some(last) = payload.last_mut() {
            *last ^= 1;
        }
    });
    assert_eq!(echo(address, "cert.pem", 64).unwrap_err().status(), 3);
}

#[test]
fn a_server_with_another_certificate_is_refused() {
    let address = serve(|_| {});
    let failure = echo(address, "other.pem", 64).unwrap_err();
    assert!(failure.to_string().contains("certificate"), "{failure}");
}

#[test]
fn a_file_without_certificates_is_refused() {
    assert_eq!(Trust::of(&file("key.pem")).unwrap_err().status(), 2);
    assert_eq!(Trust::of(&file("none.pem")).unwrap_err().status(), 2);
}
