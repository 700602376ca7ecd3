//! HTTP: each connection keeps a number of requests outstanding, all for the same path. Every
//! response must be a 200 with the expected body, byte by byte, and every connection must stay open.

use crate::failure::Failure;
use crate::http;
use crate::io::{Connect, Handler, Io};
use crate::scenario::open_all;
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state.
#[derive(Debug)]
pub struct Http {
    lanes: Vec<Lane>,
    /// As many requests as a connection may have outstanding, one after the other.
    requests: Vec<u8>,
    /// Bytes of one request.
    length: usize,
    body: Vec<u8>,
    /// Answers of the connection being read: requests to send in return.
    owed: usize,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

/// A connection. Responses have no number, so their order must be that of the requests.
#[derive(Debug)]
struct Lane {
    /// When the requests outstanding were sent, by number.
    sent: Vec<u64>,
    next_out: usize,
    next_in: usize,
}

impl Http {
    /// `connections` that request a path, with `pipeline` requests outstanding each, and expect a
    /// body.
    pub fn new(io: &Io, connections: usize, pipeline: usize, path: &str, body: &[u8]) -> Self {
        let request = http::request(io.target(), path);
        let lane = |_| Lane {
            sent: vec![0; pipeline],
            next_out: 0,
            next_in: 0,
        };
        Self {
            lanes: (0..connections).map(lane).collect(),
            length: request.len(),
            requests: request.repeat(pipeline),
            body: body.to_vec(),
            owed: 0,
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        }
    }

    /// Opens all connections.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        let ids = 0..self.lanes.len();
        open_all(io, self, ids, Connect::default(), deadline)
    }

    /// Sends this many requests in one write.
    fn send(&mut self, io: &mut Io, id: usize, count: usize) -> Result<(), Failure> {
        let now = io.now();
        let lane = &mut self.lanes[id];
        for _ in 0..count {
            let depth = lane.sent.len();
            lane.sent[lane.next_out % depth] = now;
            lane.next_out += 1;
        }
        self.outstanding += u64::try_from(count).unwrap_or(0);
        io.send(id, &self.requests[..count * self.length])
    }
}

impl Handler for Http {
    fn bytes(&mut self, io: &mut Io, id: usize, bytes: &[u8]) -> Result<usize, Failure> {
        let mut used = 0;
        while used < bytes.len() {
            let Some(length) = http::answer(&bytes[used..], &self.body)? else {
                break;
            };
            used += length;
            let lane = &mut self.lanes[id];
            if lane.next_in == lane.next_out {
                let what = format!("connection {id} got an answer that it had not asked for");
                return Err(Failure::Violation(what));
            }
            let sent = lane.sent[lane.next_in % lane.sent.len()];
            lane.next_in += 1;
            self.outstanding -= 1;
            self.meter.incoming += 1;
            self.meter.received += 1;
            self.meter.record(io.now().saturating_sub(sent));
            self.owed += usize::from(self.running);
        }
        Ok(used)
    }

    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        match std::mem::take(&mut self.owed) {
            0 => Ok(()),
            owed => self.send(io, id, owed),
        }
    }
}

impl Windowed for Http {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        for id in 0..self.lanes.len() {
            io.refresh();
            let depth = self.lanes[id].sent.len();
            self.send(io, id, depth)?;
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.running = false;
    }

    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}
