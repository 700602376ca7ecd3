//! A kibibyte of JSON for two hundred WebSockets, plain and compressed: what compression adds to a delivery.

use std::io::{Read, Write};
use std::net::TcpStream;

use millrace_gateway::{ListenerConfig, Options};

use crate::application::Server;
use crate::server::{broadcast, connected_with, masked};
use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("server/publish-json-1-kib-to-200", 50, |count| {
        publish(count, 1, "");
    }),
    case("server/publish-json-1-kib-to-200-compressed", 50, |count| {
        publish(count, 1, OFFER);
    }),
];

/// One of them sends, and all get the publication.
pub(crate) fn publish(count: u64, shards: usize, offer: &str) {
    let compression = Options::new().number("threshold", 512);
    let address = Server::on(shards, broadcast).listen(ListenerConfig {
        options: Options::new().fields("compression", compression),
        ..ListenerConfig::default()
    });
    let mut clients: Vec<_> = (0..200).map(|_| connected_with(address, offer)).collect();
    let request = masked(&json());
    clients[199].write_all(&request).expect("the server reads");
    let mut frame = first(&mut clients[0]);
    let is_compressed = frame[0] & 0x40 != 0;
    assert_eq!(
        (is_compressed, frame.len() < 400),
        (offer == OFFER, offer == OFFER)
    );
    let (_, others) = clients.split_first_mut().expect("two hundred");
    for client in others {
        client.read_exact(&mut frame).expect("a publication");
    }
    for _ in 1..count {
        clients[199].write_all(&request).expect("the server reads");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

/// Reads a frame of up to 64 KiB.
fn first(client: &mut TcpStream) -> Vec<u8> {
    let mut frame = vec![0; 4];
    client.read_exact(&mut frame).expect("a publication");
    assert_eq!(frame[1], 126);
    let length = u16::from_be_bytes([frame[2], frame[3]]);
    frame.resize(4 + usize::from(length), 0);
    client.read_exact(&mut frame[4..]).expect("its payload");
    frame
}

/// A state as an application publishes it.
fn json() -> Vec<u8> {
    let mut text = String::from("{\"type\":\"state\",\"players\":[");
    for number in 0_u32.. {
        if text.len() >= 1024 - 2 {
            break;
        }
        let (x, y) = (number * 7919 % 1000, number * 104_729 % 1000);
        let player =
            format!("{{\"id\":{number},\"name\":\"player-{number}\",\"x\":{x},\"y\":{y}}},");
        text.push_str(&player);
    }
    text.truncate(1024 - 2);
    text.push_str("]}");
    text.into_bytes()
}

const OFFER: &str = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
