//! One connection after its upgrade: an echo in one task; for other handlers one task that reads
//! and one that writes the outbox, buffered, with one flush for all waiting messages.

use std::future::ready;
use std::rc::Rc;

use fastwebsockets::upgrade::UpgradeFut;
use fastwebsockets::{Frame, OpCode, Payload, WebSocketError, WebSocketWrite};
use tokio::io::{AsyncWrite, BufWriter};
use tokio::task::{spawn_local, unconstrained};

use super::hub::{Hub, Kind};
use super::outbox::{Out, Outbox};

/// Serves the connection until it ends, for whatever reason.
pub(crate) async fn run(hub: Rc<Hub>, upgrade: UpgradeFut) {
    let _ = if hub.kind() == Kind::Echo {
        echo(upgrade).await
    } else {
        serve(hub, upgrade).await
    };
}

async fn echo(upgrade: UpgradeFut) -> Result<(), WebSocketError> {
    let mut socket = upgrade.await?;
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            // a new frame, because the one that was read still has its mask
            OpCode::Text => socket.write_frame(Frame::text(frame.payload)).await?,
            OpCode::Close => return Ok(()),
            _ => {}
        }
    }
}

async fn serve(hub: Rc<Hub>, upgrade: UpgradeFut) -> Result<(), WebSocketError> {
    let socket = upgrade.await?;
    let (mut read, write) = socket.split(|stream| {
        let (read, write) = tokio::io::split(stream);
        (read, BufWriter::new(write))
    });
    let outbox = Rc::new(Outbox::default());
    spawn_local(unconstrained(drain(Rc::clone(&outbox), write)));
    let id = hub.add(Rc::clone(&outbox));
    loop {
        let mut answer = |frame: Frame<'_>| {
            let payload = frame.payload.to_vec();
            outbox.push(match frame.opcode {
                OpCode::Close => Out::Close(payload),
                _ => Out::Pong(payload),
            });
            ready(Ok::<_, WebSocketError>(()))
        };
        match read.read_frame(&mut answer).await {
            Ok(frame) if frame.opcode == OpCode::Text => hub.handle(id, &frame.payload),
            Ok(frame) if frame.opcode == OpCode::Close => break,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    hub.remove(id);
    outbox.end();
    Ok(())
}

/// Writes what is queued until nothing more comes.
async fn drain<W: AsyncWrite + Unpin>(outbox: Rc<Outbox>, mut write: WebSocketWrite<W>) {
    let mut batch = Vec::new();
    while outbox.take(&mut batch).await {
        for out in batch.drain(..) {
            let frame = match &out {
                Out::Text(text) => Frame::text(Payload::Borrowed(text)),
                Out::Close(payload) => Frame::close_raw(Payload::Borrowed(payload)),
                Out::Pong(payload) => Frame::pong(Payload::Borrowed(payload)),
            };
            if write.write_frame(frame).await.is_err() {
                return;
            }
        }
        if write.flush().await.is_err() {
            return;
        }
    }
}
