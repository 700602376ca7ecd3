//! The negotiation of permessage-deflate (RFC 7692 §5 and §7.1): offers are read, the terms of a connection are chosen, a
//! server's answer is judged.
//!
//! Never reads a header that is not `Sec-WebSocket-Extensions`, and never knows what a connection costs.

use super::super::handshake::extensions::{Element, Elements, Malformed, Param};
use super::window::WindowBits;

/// The name of the extension.
pub const NAME: &str = "permessage-deflate";

const SERVER_NO_TAKEOVER: &str = "server_no_context_takeover";
const CLIENT_NO_TAKEOVER: &str = "client_no_context_takeover";
const SERVER_BITS: &str = "server_max_window_bits";
const CLIENT_BITS: &str = "client_max_window_bits";

/// What a client offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offer {
    /// The server must not use context takeover (§7.1.1.1).
    pub server_no_context_takeover: bool,
    /// The client will not use context takeover (§7.1.1.2).
    pub client_no_context_takeover: bool,
    /// The largest window of the server (§7.1.2.1).
    pub server_max_window_bits: Option<WindowBits>,
    /// Whether the server may choose the client's window, and from which size down.
    pub client_max_window_bits: ClientWindow,
}

/// The parameter `client_max_window_bits` of an offer (§7.1.2.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientWindow {
    /// It is missing: the server cannot choose.
    #[default]
    Fixed,
    /// It has no value: the server may choose any size.
    Any,
    /// The client uses at most this, and the server may choose less.
    AtMost(WindowBits),
}

/// What a server wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wishes {
    /// Whether the server compresses with its earlier messages in mind, if the client allows it.
    pub server_takeover: bool,
    /// Whether the client may refer to its earlier messages.
    pub client_takeover: bool,
    /// The largest window of the server.
    pub server_window: WindowBits,
    /// The largest window of the client, if it lets the server choose.
    pub client_window: WindowBits,
}

/// The terms that both sides agreed on: the parameters of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// The server uses no context takeover.
    pub server_no_context_takeover: bool,
    /// The client uses no context takeover.
    pub client_no_context_takeover: bool,
    /// The window of the server; `None` is the largest.
    pub server_max_window_bits: Option<WindowBits>,
    /// The window of the client; `None` is the largest.
    pub client_max_window_bits: Option<WindowBits>,
}

impl Offer {
    /// The first acceptable offer in the values of the lines of `Sec-WebSocket-Extensions`. Offers of other extensions, and
    /// those with unknown, repeated or invalid parameters, are declined (§7). An error means that a line is no list of
    /// extensions, which ends the handshake (RFC 6455 §9.1).
    pub fn first<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<Self>, Malformed> {
        let (mut first, mut known) = (None, None);
        for line in lines {
            for element in Elements::new(line) {
                match element? {
                    Element::Extension(name) => {
                        first = first.or(known.take().flatten());
                        known = (name == NAME.as_bytes()).then(|| Some(Self::default()));
                    }
                    Element::Param(param) => {
                        if let Some(offer) = &mut known {
                            *offer = offer.and_then(|offer| offer.with(&param));
                        }
                    }
                }
            }
            first = first.or(known.take().flatten());
        }
        Ok(first)
    }

    fn with(mut self, param: &Param<'_>) -> Option<Self> {
        match (param.name, &param.value) {
            (name, None) if name == SERVER_NO_TAKEOVER.as_bytes() => {
                raise(&mut self.server_no_context_takeover)?;
            }
            (name, None) if name == CLIENT_NO_TAKEOVER.as_bytes() => {
                raise(&mut self.client_no_context_takeover)?;
            }
            (name, Some(value)) if name == SERVER_BITS.as_bytes() => {
                put(&mut self.server_max_window_bits, bits(value)?)?;
            }
            (name, value) if name == CLIENT_BITS.as_bytes() => {
                if self.client_max_window_bits != ClientWindow::Fixed {
                    return None;
                }
                self.client_max_window_bits = match value {
                    None => ClientWindow::Any,
                    Some(value) => ClientWindow::AtMost(bits(value)?),
                };
            }
            _ => return None,
        }
        Some(self)
    }

    /// Appends the offer as the value of `Sec-WebSocket-Extensions`.
    pub fn append(&self, out: &mut Vec<u8>) {
        append_flags(
            (
                self.server_no_context_takeover,
                self.client_no_context_takeover,
            ),
            self.server_max_window_bits,
            out,
        );
        match self.client_max_window_bits {
            ClientWindow::Fixed => {}
            ClientWindow::Any => append_name(CLIENT_BITS, out),
            ClientWindow::AtMost(bits) => append_bits(CLIENT_BITS, bits, out),
        }
    }

    /// The terms of a server's answer to this offer: the values of its lines of `Sec-WebSocket-Extensions`. `None`: it
    /// declined. An error means that the answer has what was not offered or not what was, which fails the connection
    /// (§7.1).
    pub fn judge<'a>(
        &self,
        lines: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<Terms>, Malformed> {
        let mut terms: Option<Terms> = None;
        for line in lines {
            for element in Elements::new(line) {
                match (element?, &mut terms) {
                    (Element::Extension(name), None) if name == NAME.as_bytes() => {
                        terms = Some(Terms::default());
                    }
                    (Element::Param(param), Some(terms)) => {
                        terms.add(&param).ok_or(Malformed)?;
                    }
                    _ => return Err(Malformed),
                }
            }
        }
        match terms {
            Some(terms) if !self.allows(terms) => Err(Malformed),
            terms => Ok(terms),
        }
    }

    fn allows(self, terms: Terms) -> bool {
        let server_fits = self.server_max_window_bits.is_none_or(|most| {
            terms
                .server_max_window_bits
                .is_some_and(|bits| bits <= most)
        });
        let client_fits = match (self.client_max_window_bits, terms.client_max_window_bits) {
            (_, None) | (ClientWindow::Any, _) => true,
            (ClientWindow::Fixed, Some(_)) => false,
            (ClientWindow::AtMost(most), Some(bits)) => bits <= most,
        };
        let resets = terms.server_no_context_takeover || !self.server_no_context_takeover;
        server_fits && client_fits && resets
    }
}

impl Wishes {
    /// The terms for an offer: every offer can be met.
    pub fn meet(&self, offer: &Offer) -> Terms {
        let client_window = match offer.client_max_window_bits {
            ClientWindow::Fixed => None,
            ClientWindow::Any => Some(self.client_window),
            ClientWindow::AtMost(most) => Some(self.client_window.min(most)),
        };
        Terms {
            server_no_context_takeover: !self.server_takeover || offer.server_no_context_takeover,
            client_no_context_takeover: !self.client_takeover || offer.client_no_context_takeover,
            server_max_window_bits: offer
                .server_max_window_bits
                .map(|most| most.min(self.server_window)),
            client_max_window_bits: client_window.filter(|bits| *bits < WindowBits::MOST),
        }
    }
}

impl Terms {
    /// The window that the server's messages may reach back in.
    pub fn server_window(&self) -> WindowBits {
        self.server_max_window_bits.unwrap_or_default()
    }

    /// The window that the client's messages may reach back in.
    pub fn client_window(&self) -> WindowBits {
        self.client_max_window_bits.unwrap_or_default()
    }

    fn add(&mut self, param: &Param<'_>) -> Option<()> {
        match (param.name, &param.value) {
            (name, None) if name == SERVER_NO_TAKEOVER.as_bytes() => {
                raise(&mut self.server_no_context_takeover)
            }
            (name, None) if name == CLIENT_NO_TAKEOVER.as_bytes() => {
                raise(&mut self.client_no_context_takeover)
            }
            (name, Some(value)) if name == SERVER_BITS.as_bytes() => {
                put(&mut self.server_max_window_bits, bits(value)?)
            }
            (name, Some(value)) if name == CLIENT_BITS.as_bytes() => {
                put(&mut self.client_max_window_bits, bits(value)?)
            }
            _ => None,
        }
    }

    /// Appends the terms as the value of `Sec-WebSocket-Extensions`.
    pub fn append(&self, out: &mut Vec<u8>) {
        append_flags(
            (
                self.server_no_context_takeover,
                self.client_no_context_takeover,
            ),
            self.server_max_window_bits,
            out,
        );
        if let Some(bits) = self.client_max_window_bits {
            append_bits(CLIENT_BITS, bits, out);
        }
    }
}

/// Sets a flag; `None`: it was set.
fn raise(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

/// Sets a value; `None`: there was one.
fn put(place: &mut Option<WindowBits>, value: WindowBits) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// A number from 8 to 15 without leading zeros.
fn bits(value: &[u8]) -> Option<WindowBits> {
    match value {
        [digit @ (b'8' | b'9')] => WindowBits::new(digit - b'0'),
        [b'1', digit @ b'0'..=b'5'] => WindowBits::new(10 + digit - b'0'),
        _ => None,
    }
}

fn append_flags(
    (server, client): (bool, bool),
    server_bits: Option<WindowBits>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(NAME.as_bytes());
    if server {
        append_name(SERVER_NO_TAKEOVER, out);
    }
    if client {
        append_name(CLIENT_NO_TAKEOVER, out);
    }
    if let Some(bits) = server_bits {
        append_bits(SERVER_BITS, bits, out);
    }
}

fn append_name(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"; ");
    out.extend_from_slice(name.as_bytes());
}

fn append_bits(name: &str, bits: WindowBits, out: &mut Vec<u8>) {
    append_name(name, out);
    out.push(b'=');
    out.extend_from_slice(bits.get().to_string().as_bytes());
}

#[cfg(test)]
mod tests;
