//! The description of a connection that opens, for a worker.

use millrace_core::SocketId;

use super::kinds::Transport;

/// The contents of an OPEN record.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) socket: SocketId,
    /// Whether `handleOpen` decides; otherwise the connection is already accepted.
    pub(crate) answer: bool,
    pub(crate) transport: Transport,
    pub(crate) encrypted: bool,
    pub(crate) address: &'a str,
    /// 0 on a unix socket, and for a client that a proxy names in its requests.
    pub(crate) port: u16,
    /// Path and query as sent; empty for transports without a path.
    pub(crate) target: &'a str,
    /// `name\0value\0…`, visible ASCII; empty for transports without headers.
    pub(crate) headers: &'a [u8],
    /// The subject of the client's TLS certificate, in the form of the headers.
    pub(crate) subject: &'a [u8],
    /// The certificate in DER; empty without one.
    pub(crate) certificate: &'a [u8],
}

impl Opening<'_> {
    /// The length of the record's payload.
    pub(crate) fn payload_bytes(&self) -> usize {
        8 * 4 + self.parts().iter().map(|part| part.len()).sum::<usize>()
    }

    /// The flags of the record: bit 0 says whether `handleOpen` decides, bit 1 whether the connection is encrypted, bits
    /// 8 to 15 have the transport, bits 16 to 31 the port.
    pub(super) fn flags(&self) -> u32 {
        u32::from(self.answer)
            | u32::from(self.encrypted) << 1
            | self.transport.number() << 8
            | u32::from(self.port) << 16
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

    /// The description of a connection for which no handler is called.
    pub(crate) const fn unseen(socket: SocketId) -> Self {
        Self {
            socket,
            answer: false,
            transport: Transport::WebSocket,
            encrypted: false,
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
    fn the_flags_of_an_open_contain_transport_and_port() {
        let socket = SocketId::new(1).unwrap();
        let mut opening = Opening::unseen(socket);
        assert_eq!(opening.flags(), 0);
        (opening.answer, opening.port) = (true, 65_535);
        opening.transport = Transport::EventStream;
        assert_eq!(opening.flags(), 0xffff_0101);
        opening.encrypted = true;
        assert_eq!(opening.flags(), 0xffff_0103);
    }
}
