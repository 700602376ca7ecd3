//! The cases of the whole server that show what several I/O shards add to a message. Connections are dealt in turns, so
//! that each shard has its share.

use std::io::{Read, Write};
use std::net::TcpStream;

use millrace_core::{Kind, ShardSet, SocketId, Target};
use millrace_gateway::{Gateway, ListenerConfig};

use crate::application::{CHANNEL, Handle, Server};
use crate::server::{answer, broadcast, connected, masked, plain};
use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("server/echo-text-64-on-2-shards", 500, |count| {
        echo(count, 2);
    }),
    case("server/echo-text-64-on-4-shards", 500, |count| {
        echo(count, 4);
    }),
    case("server/text-64-to-another-shard", 500, pass_on),
    case("server/publish-to-200-on-2-shards", 50, |count| {
        publish(count, 2);
    }),
    case("server/publish-to-200-on-4-shards", 50, |count| {
        publish(count, 4);
    }),
];

/// The connections send in turns, and each gets its text back.
fn echo(count: u64, shards: usize) {
    let mut clients = clients(shards, shards, answer);
    let (request, expected) = (masked(PAYLOAD), plain(PAYLOAD));
    let mut reply = expected.clone();
    for client in (0..shards).cycle().zip(0..count).map(|(client, _)| client) {
        clients[client]
            .write_all(&request)
            .expect("the server reads");
        clients[client]
            .read_exact(&mut reply)
            .expect("the server answers");
    }
    assert!(reply == expected);
}

/// Two connections of two shards send in turns, and the other one gets the text.
fn pass_on(count: u64) {
    let mut clients = clients(2, 2, broadcast_to_others);
    let (request, expected) = (masked(PAYLOAD), plain(PAYLOAD));
    let mut frame = expected.clone();
    for client in [0, 1].into_iter().cycle().zip(0..count).map(|(one, _)| one) {
        clients[client]
            .write_all(&request)
            .expect("the server reads");
        clients[1 - client]
            .read_exact(&mut frame)
            .expect("the text");
    }
    assert!(frame == expected);
}

fn publish(count: u64, shards: usize) {
    let mut clients = clients(200, shards, broadcast);
    let (request, mut frame) = (masked(PAYLOAD), plain(PAYLOAD));
    for _ in 0..count {
        clients[199].write_all(&request).expect("the server reads");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

fn broadcast_to_others(gateway: &Gateway, id: SocketId, text: &[u8], dirty: &mut ShardSet) {
    gateway.send(&[Target::Channel(CHANNEL)], Kind::Text, text, &[id], dirty);
}

fn clients(count: usize, shards: usize, handle: Handle) -> Vec<TcpStream> {
    let address = Server::on(shards, handle).listen(ListenerConfig::default());
    (0..count).map(|_| connected(address)).collect()
}

const PAYLOAD: &[u8] = &[b'p'; 64];
