//! How a worker sends an instruction to the session of a socket, pings its client, and ends its connection at once.

use millrace_core::{ShardSet, SocketId};
use millrace_protocol::websocket::close;

use super::Hub;
use crate::event::{Instruction, Operation};
use crate::frame::SharedBytes;
use crate::inbox::{COMMAND_CHARGE, Command};

impl Hub {
    /// Sends an instruction to the session of a socket, or of the socket behind a virtual one: an operation of its
    /// protocol, by number. It follows what was sent to the socket before. False: the I/O thread has too much to do,
    /// which is reported. A closed socket gets nothing, because its worker is told of the close.
    pub fn tell(
        &self,
        id: SocketId,
        operation: u32,
        fields: &[u8],
        payload: &[u8],
        dirty: &mut ShardSet,
    ) -> bool {
        self.tell_instruction(id, Instruction::new(operation, fields, payload), dirty)
    }

    /// Like [`tell`](Self::tell), with shared bytes that are not copied instead of a payload.
    pub fn tell_shared(
        &self,
        id: SocketId,
        operation: u32,
        fields: &[u8],
        shared: &SharedBytes,
        dirty: &mut ShardSet,
    ) -> bool {
        self.tell_instruction(id, Instruction::sharing(operation, fields, shared), dirty)
    }

    /// Sends a ping to the client of a WebSocket, after what was sent to it before; sessions of other protocols ignore
    /// it. False: there is no such socket, or the I/O thread has too much to do. The caller has checked the length.
    pub fn ping(&self, id: SocketId, payload: &[u8], dirty: &mut ShardSet) -> bool {
        let operation = Operation::WebSocketPing.number();
        self.post_instruction(id, Instruction::new(operation, &[], payload), dirty) == Some(true)
    }

    /// Cuts the connection of a socket, or of the real socket of a virtual one, without a close frame, also if it is about to
    /// be closed. False: there is no such socket.
    pub fn terminate(&self, id: SocketId, dirty: &mut ShardSet) -> bool {
        let Some(route) = self.core.route(id) else {
            return false;
        };
        let command = Command::Close {
            slot: route.slot,
            socket: route.socket,
            code: close::ABNORMAL,
            reason: Box::default(),
        };
        self.inboxes.post(route.shard, command);
        dirty.insert(route.shard);
        true
    }

    fn tell_instruction(
        &self,
        id: SocketId,
        instruction: Instruction<'_>,
        dirty: &mut ShardSet,
    ) -> bool {
        self.post_instruction(id, instruction, dirty) != Some(false)
    }

    /// `None`: there is no such socket.
    fn post_instruction(
        &self,
        id: SocketId,
        instruction: Instruction<'_>,
        dirty: &mut ShardSet,
    ) -> Option<bool> {
        let length = instruction.length();
        let charge = COMMAND_CHARGE + length;
        let posted = self.core.reach(id, &[], |route, _annotation| {
            dirty.insert(route.shard);
            let (slot, socket) = (route.slot, route.socket);
            self.inboxes.deliver(route.shard, charge, 0, |mail| {
                let may_be_small = length <= SMALL && instruction.shared().is_none();
                let small = u32::try_from(length).ok().filter(|_| may_be_small);
                if let Some(length) = small {
                    let start = mail.place(&[]);
                    instruction.append(&mut mail.arena);
                    return Command::TellSmall {
                        slot,
                        socket,
                        start,
                        length,
                    };
                }
                Command::Tell {
                    slot,
                    socket,
                    instruction: Box::new(instruction.to_waiting()),
                }
            })
        });
        if posted == Some(false) {
            self.report(
                "ERR_MILLRACE_INBOX_FULL",
                "an I/O thread has too much to send; what a socket was told is lost",
            );
        }
        posted
    }
}

/// The most bytes of an instruction that is copied into an inbox's arena.
const SMALL: usize = 4096;
