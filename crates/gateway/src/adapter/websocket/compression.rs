//! Compression on one listener (permessage-deflate, RFC 7692): its options, and the terms of each connection.

use std::sync::{Arc, OnceLock};

use millrace_protocol::websocket::DecoderConfig;
use millrace_protocol::websocket::deflate::{History, Offer, Terms, WindowBits, Wishes};

use super::compressed::{Compressed, Context, Shared};
use super::contexts::{Contexts, Reservation};
use super::v1::{self, V1, V1Terms};
use crate::contract::{CompressionTerms, Encoding, Encodings, ListenError, Reader, Session};
use crate::inflaters::Inflaters;

/// See the module.
#[derive(Debug)]
pub(super) struct Compression {
    wishes: Wishes,
    /// Whether a client may use context takeover even if the contexts have no room.
    always: bool,
    level: u8,
    /// Shorter messages are sent as they are.
    threshold: usize,
    /// The bytes of all contexts up to which new connections get one.
    context_bytes: usize,
    means: Means,
    decoder: Arc<DecoderConfig>,
    inflaters: Arc<Inflaters>,
    /// What connections share, by window and context takeover of the server.
    shared: [OnceLock<Arc<Shared>>; 2 * WINDOWS],
}

/// What the listeners of a gateway share: the memory of context takeover, and the encodings.
pub(crate) type Means = (Contexts, Arc<Encodings>);

/// Whether clients may use context takeover.
#[derive(Clone, Copy)]
enum ClientTakeover {
    Never,
    /// While the contexts have room.
    Bounded,
    Always,
}

const CLIENT_TAKEOVER: [(&str, ClientTakeover); 3] = [
    ("never", ClientTakeover::Never),
    ("bounded", ClientTakeover::Bounded),
    ("always", ClientTakeover::Always),
];

/// The number of sizes of a window.
const WINDOWS: usize = 8;

/// The defaults of the options.
const THRESHOLD: usize = 512;
const LEVEL: u8 = 3;
const CONTEXT_BYTES: usize = 64 << 20;

impl Compression {
    /// Reads the option `compression`. `None`: it is off.
    pub(super) fn read(
        options: &Reader<'_>,
        means: &Means,
        decoder: &Arc<DecoderConfig>,
    ) -> Result<Option<Self>, ListenError> {
        options.nested("compression", |own| {
            let client = own.word("clientContextTakeover", &CLIENT_TAKEOVER)?;
            let client = client.unwrap_or(ClientTakeover::Bounded);
            let level = number(own, "level", 1, 9)?.and_then(|level| u8::try_from(level).ok());
            Ok(Self {
                wishes: Wishes {
                    server_takeover: own.flag("serverContextTakeover")?.unwrap_or_default(),
                    client_takeover: !matches!(client, ClientTakeover::Never),
                    server_window: window(own, "serverMaxWindowBits")?,
                    client_window: window(own, "clientMaxWindowBits")?,
                },
                always: matches!(client, ClientTakeover::Always),
                level: level.unwrap_or(LEVEL),
                threshold: number(own, "threshold", 0, usize::MAX)?.unwrap_or(THRESHOLD),
                context_bytes: number(own, "memoryBytes", 0, usize::MAX)?.unwrap_or(CONTEXT_BYTES),
                means: means.clone(),
                decoder: Arc::clone(decoder),
                inflaters: Arc::default(),
                shared: [const { OnceLock::new() }; _],
            })
        })
    }

    /// The terms for an offer, and the session of the connection, which speaks `millrace.v1` if that is given.
    pub(super) fn open(&self, offer: Offer, v1: Option<V1Terms>) -> (Terms, Box<dyn Session>) {
        let (terms, reservation) = self.agree(offer);
        let shared = self.shared(terms);
        let headed = v1.map(|v1| (self.headed(terms, &shared, &v1), v1));
        let session: Box<dyn Session> = match (context(terms, reservation), headed) {
            (None, None) => Box::new(Compressed::new(shared, ())),
            (Some(context), None) => Box::new(Compressed::new(shared, Box::new(context))),
            (None, Some((encoding, v1))) => {
                Box::new(V1::new(Compressed::new(shared, ()), v1, encoding))
            }
            (Some(context), Some((encoding, v1))) => {
                let compressed = Compressed::new(shared, Box::new(context));
                Box::new(V1::new(compressed, v1, encoding))
            }
        };
        (terms, session)
    }

    /// The encoding of messages to a client of `millrace.v1`.
    fn headed(&self, terms: Terms, shared: &Shared, v1: &V1Terms) -> Encoding {
        *shared.headed.get_or_init(|| {
            let encoding = self.means.1.compressed_headed(self.how(terms), v1::HEADED);
            encoding.unwrap_or_else(|| v1.plain())
        })
    }

    /// Chooses the terms: with context takeover if it is wished, the client agrees and the contexts have room.
    fn agree(&self, offer: Offer) -> (Terms, Option<Reservation>) {
        let terms = self.wishes.meet(&offer);
        let bytes = self.context_size(terms);
        if bytes == 0 {
            return (terms, None);
        }
        if let Some(reservation) = self.means.0.reserve(bytes, self.context_bytes) {
            return (terms, Some(reservation));
        }
        let frugal = Wishes {
            server_takeover: false,
            client_takeover: self.always && self.wishes.client_takeover,
            ..self.wishes
        };
        let terms = frugal.meet(&offer);
        let reservation = match self.context_size(terms) {
            0 => None,
            bytes => self.means.0.reserve(bytes, usize::MAX),
        };
        (terms, reservation)
    }

    /// The bytes of the contexts of a connection: what it keeps in each direction, which for the messages to a client may be
    /// less than the client would.
    fn context_size(&self, terms: Terms) -> usize {
        let bytes = |is_without, window: WindowBits| if is_without { 0 } else { window.bytes() };
        bytes(terms.client_no_context_takeover, terms.client_window())
            + bytes(terms.server_no_context_takeover, self.how(terms).window)
    }

    /// What connections with these terms share.
    fn shared(&self, terms: Terms) -> Arc<Shared> {
        let how = self.how(terms);
        let place = usize::from(how.window.get() - WindowBits::LEAST.get());
        let place = place * 2 + usize::from(how.takeover);
        let make = || {
            Arc::new(Shared {
                decoder: Arc::clone(&self.decoder),
                inflaters: Arc::clone(&self.inflaters),
                // with too many encodings for one more, messages are sent as they are
                encoding: self.means.1.compressed(how).unwrap_or(Encodings::LEAD),
                headed: OnceLock::new(),
                silent: OnceLock::new(),
            })
        };
        let known = self.shared.get(place);
        known.map_or_else(make, |known| Arc::clone(known.get_or_init(make)))
    }

    /// How messages to a client with these terms are compressed.
    fn how(&self, terms: Terms) -> CompressionTerms {
        CompressionTerms {
            level: self.level,
            window: terms.server_window().min(self.wishes.server_window),
            threshold: self.threshold,
            takeover: !terms.server_no_context_takeover,
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Compression {
    /// A session without its stream, whose client uses context takeover. Messages to it are not compressed.
    pub(super) fn session_on_stage(decoder: Arc<DecoderConfig>) -> Box<dyn Session> {
        let shared = Shared {
            decoder,
            inflaters: Arc::default(),
            encoding: Encodings::LEAD,
            headed: OnceLock::new(),
            silent: OnceLock::new(),
        };
        let reservation = Contexts::default().reserve(WindowBits::MOST.bytes(), CONTEXT_BYTES);
        let context = context(Terms::default(), reservation).expect("the contexts have room");
        Box::new(Compressed::new(Arc::new(shared), Box::new(context)))
    }
}

/// The part of a session that connections with context takeover have.
fn context(terms: Terms, reservation: Option<Reservation>) -> Option<Context> {
    let reservation = reservation?;
    let history = (!terms.client_no_context_takeover).then(|| History::new(terms.client_window()));
    Some(Context {
        history,
        reservation,
    })
}

fn window(options: &Reader<'_>, name: &str) -> Result<WindowBits, ListenError> {
    let bits = options.whole(name)?.map(|bits| u8::try_from(bits).ok());
    match bits.map(|bits| bits.and_then(WindowBits::new)) {
        None => Ok(WindowBits::MOST),
        Some(Some(bits)) => Ok(bits),
        Some(None) => Err(options.wrong(name, "a whole number from 8 to 15")),
    }
}

/// Reads a number from `least` to `most`.
fn number(
    options: &Reader<'_>,
    name: &str,
    least: usize,
    most: usize,
) -> Result<Option<usize>, ListenError> {
    let Some(number) = options.whole(name)? else {
        return Ok(None);
    };
    let number = usize::try_from(number)
        .ok()
        .filter(|number| (least..=most).contains(number));
    let wrong = || options.wrong(name, &format!("a whole number from {least} to {most}"));
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ListenError;
    use crate::options::Options;

    fn read(compression: Options) -> Result<Compression, ListenError> {
        let options = Options::new().fields("compression", compression);
        let reader = options.reader();
        let means = (Contexts::default(), Arc::new(Encodings::new()));
        let read = Compression::read(&reader, &means, &Arc::default())?;
        reader.finish()?;
        Ok(read.expect("it is given"))
    }

    fn offer(line: &str) -> Offer {
        let first = Offer::first([line.as_bytes()]);
        first.expect("it is a list").expect("it is acceptable")
    }

    #[test]
    fn it_is_off_unless_it_is_given() {
        let means = (Contexts::default(), Arc::new(Encodings::new()));
        let options = Options::new();
        let read = Compression::read(&options.reader(), &means, &Arc::default());
        assert!(read.expect("nothing is wrong").is_none());
        let usual = read_usual();
        assert_eq!((usual.threshold, usual.level), (512, 3));
        assert_eq!(usual.context_bytes, 64 << 20);
        assert!(usual.wishes.client_takeover && !usual.wishes.server_takeover && !usual.always);
    }

    fn read_usual() -> Compression {
        read(Options::new()).expect("nothing is wrong")
    }

    #[test]
    fn a_wrong_value_is_reported_with_its_path() {
        for (options, problem) in [
            (
                Options::new().number("level", 10),
                "compression.level must be a whole number from 1 to 9",
            ),
            (
                Options::new().number("level", 0),
                "compression.level must be a whole number from 1 to 9",
            ),
            (
                Options::new().number("serverMaxWindowBits", 7),
                "compression.serverMaxWindowBits must be a whole number from 8 to 15",
            ),
            (
                Options::new().number("clientMaxWindowBits", 16),
                "compression.clientMaxWindowBits must be a whole number from 8 to 15",
            ),
            (
                Options::new().text("clientContextTakeover", "no"),
                "compression.clientContextTakeover must be one of 'never', 'bounded', 'always'",
            ),
            (
                Options::new().flag("memory", true),
                "compression.memory is no option of this protocol",
            ),
        ] {
            let error = read(options).expect_err("it is wrong").to_string();
            assert_eq!(error, problem);
        }
    }

    #[test]
    fn connections_share_all_but_their_contexts() {
        let compression = read_usual();
        let (one, _) = compression.agree(offer("permessage-deflate; client_no_context_takeover"));
        let (two, _) = compression.agree(offer("permessage-deflate; server_max_window_bits=9"));
        assert!(Arc::ptr_eq(
            &compression.shared(one),
            &compression.shared(one)
        ));
        assert!(!Arc::ptr_eq(
            &compression.shared(one),
            &compression.shared(two)
        ));
    }

    #[test]
    fn a_connection_that_stops_compressing_gets_messages_as_they_are() {
        for takeover in [false, true] {
            let options = Options::new().flag("serverContextTakeover", takeover);
            let compression = read(options).expect("nothing is wrong");
            let (_, mut session) = compression.open(offer("permessage-deflate"), None);
            assert_ne!(session.traits().encoding, Encodings::LEAD);
            session.stop_compressing();
            assert_eq!(session.traits().encoding, Encodings::LEAD);
            // the others go on
            let (_, other) = compression.open(offer("permessage-deflate"), None);
            assert_ne!(other.traits().encoding, Encodings::LEAD);
        }
    }

    #[test]
    fn context_takeover_needs_room_in_both_directions() {
        let options = Options::new()
            .flag("serverContextTakeover", true)
            .number("memoryBytes", 50_000);
        let compression = read(options).expect("nothing is wrong");
        // 32 KiB for each direction do not fit, 16 KiB do
        let (terms, held) = compression.agree(offer("permessage-deflate"));
        assert!(terms.server_no_context_takeover && terms.client_no_context_takeover);
        assert!(context(terms, held).is_none());
        let small =
            offer("permessage-deflate; server_max_window_bits=14; client_max_window_bits=14");
        let (terms, held) = compression.agree(small);
        assert!(!terms.server_no_context_takeover && !terms.client_no_context_takeover);
        assert!(held.is_some());
        let (terms, _) = compression.agree(small);
        assert!(terms.server_no_context_takeover && terms.client_no_context_takeover);
        drop(held);
        let (terms, _held) = compression.agree(small);
        assert!(!terms.server_no_context_takeover);
    }

    #[test]
    fn the_window_of_the_option_is_what_a_context_takes() {
        let options = Options::new()
            .flag("serverContextTakeover", true)
            .text("clientContextTakeover", "never")
            .number("serverMaxWindowBits", 10)
            .number("memoryBytes", 3 * 1024);
        let compression = read(options).expect("nothing is wrong");
        // a client that has not offered to keep less keeps 32 KiB; the gateway does not
        let all: Vec<_> = (0..4)
            .map(|_| compression.agree(offer("permessage-deflate")))
            .collect();
        let with = all.iter().filter(|(terms, held)| {
            assert_eq!(held.is_some(), !terms.server_no_context_takeover);
            held.is_some()
        });
        assert_eq!(with.count(), 3);
        assert_eq!(compression.how(all[0].0).window.bytes(), 1024);
    }
}
