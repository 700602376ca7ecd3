//! The cost of a packet: decoding in place, and encoding into a buffer that is already allocated.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use millrace_protocol::sockety::{
    Decoder, DecoderConfig, FileList, HEARTBEAT, Head, Id, Sender, Subject, append_fast_reply,
    append_switch,
};

fn main() {
    divan::main();
}

const COUNT: usize = 1000;
const ID: Id = Id::v4([7; 16]);

#[divan::bench]
fn decode_heartbeats(bencher: Bencher<'_, '_>) {
    decode(bencher, |_, out| out.push(HEARTBEAT));
}

#[divan::bench]
fn decode_fast_replies(bencher: Bencher<'_, '_>) {
    decode(bencher, |_, out| {
        let _codes = append_fast_reply(0, ID, out);
    });
}

#[divan::bench]
fn decode_messages_without_contents(bencher: Bencher<'_, '_>) {
    let mut sender = Sender::new(4096);
    decode(bencher, |_, out| {
        let _channel = sender.begin(&head(0), out);
    });
}

#[divan::bench]
fn decode_messages_with_data(bencher: Bencher<'_, '_>) {
    let mut sender = Sender::new(4096);
    decode(bencher, |_, out| {
        let _channel = sender.begin(&head(5), out);
        let _taken = sender.data(0, b"hello", out);
    });
}

/// Each message uses another channel than the one before, while as many channels are busy.
#[divan::bench]
fn decode_messages_on_a_thousand_channels(bencher: Bencher<'_, '_>) {
    let mut sender = Sender::new(4096);
    let mut begun = Vec::new();
    for _ in 0..COUNT {
        let _channel = sender.begin(&head(10), &mut begun);
        sender.forget_channel();
    }
    decode_behind(bencher, &begun, |at, out| {
        let channel = u16::try_from(at % COUNT).unwrap_or_default();
        let _chosen = append_switch(channel, out);
        out.extend_from_slice(&[0xe0, 0]);
    });
}

#[divan::bench]
fn send_messages_with_data(bencher: Bencher<'_, '_>) {
    let (mut sender, mut out) = (Sender::new(4096), Vec::with_capacity(100 * COUNT));
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        out.clear();
        for _ in 0..COUNT {
            let _channel = sender.begin(black_box(&head(5)), &mut out);
            let _taken = sender.data(0, black_box(b"hello"), &mut out);
        }
        out.len()
    });
}

fn head(data_size: u64) -> Head<'static> {
    Head {
        subject: Subject::Action("echo"),
        id: ID,
        expects_response: true,
        has_stream: false,
        data_size,
        files: FileList::default(),
    }
}

fn decode(bencher: Bencher<'_, '_>, append: impl FnMut(usize, &mut Vec<u8>)) {
    decode_behind(bencher, &[], append);
}

/// Decodes a thousand copies of the appended packets, after what is in the stream already.
fn decode_behind(
    bencher: Bencher<'_, '_>,
    before: &[u8],
    mut append: impl FnMut(usize, &mut Vec<u8>),
) {
    let mut stream = Vec::new();
    for at in 0..COUNT {
        append(at, &mut stream);
    }
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    for mut input in [&[0xe3], before] {
        while let Ok(Some(_)) = decoder.next(&mut input, &config) {}
    }
    bencher
        .counter(ItemsCount::new(COUNT))
        .counter(BytesCount::of_slice(&stream))
        .bench_local(|| {
            let (mut input, mut items) = (black_box(&stream[..]), 0u32);
            while let Ok(Some(item)) = decoder.next(&mut input, &config) {
                black_box(&item);
                items += 1;
            }
            items
        });
}
