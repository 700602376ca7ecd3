//! A connection that wants to open, as a worker is told of it.

use millrace_core::SocketId;

use super::kinds::Transport;

/// What an OPEN record carries.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) socket: SocketId,
    /// Whether `handleOpen` decides; otherwise the connection is already accepted.
    pub(crate) answer: bool,
    pub(crate) transport: Transport,
    pub(crate) address: &'a str,
    /// 0 on a unix socket, and where a proxy names the client in its requests.
    pub(crate) port: u16,
    /// Path and query as sent; empty where there is none.
    pub(crate) target: &'a str,
    /// `name\0value\0…`, visible ASCII; empty where there are none.
    pub(crate) headers: &'a [u8],
    /// Of the client's TLS certificate, as the headers are written.
    pub(crate) subject: &'a [u8],
    /// The certificate in DER; empty where there is none.
    pub(crate) certificate: &'a [u8],
}

impl Opening<'_> {
    /// The bytes of the record's payload.
    pub(crate) fn payload_bytes(&self) -> usize {
        8 * 4 + self.parts().iter().map(|part| part.len()).sum::<usize>()
    }

    /// The record's word of flags: whether `handleOpen` decides in bit 0, the transport in bits 8 to 15, the port in
    /// bits 16 to 31.
    pub(super) fn flags(&self) -> u32 {
        u32::from(self.answer) | self.transport.number() << 8 | u32::from(self.port) << 16
    }

    pub(super) fn parts(&self) -> [&[u8]; 5] {
        [
            self.address.as_bytes(),
            self.target.as_bytes(),
            self.headers,
            self.subject,
            self.certificate,
        ]
    }

    /// Of a connection that no handler is asked about.
    pub(crate) const fn unseen(socket: SocketId) -> Self {
        Self {
            socket,
            answer: false,
            transport: Transport::WebSocket,
            address: "",
            port: 0,
            target: "",
            headers: &[],
            subject: &[],
            certificate: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transport_and_port_lie_beside_the_answer() {
        let socket = SocketId::new(1).unwrap();
        let mut opening = Opening::unseen(socket);
        assert_eq!(opening.flags(), 0);
        (opening.answer, opening.port) = (true, 65_535);
        opening.transport = Transport::EventStream;
        assert_eq!(opening.flags(), 0xffff_0101);
    }
}
