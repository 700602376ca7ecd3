//! Answers that a worker wrote as complete HTTP/1.1 messages with head and framing, as Node's own `ServerResponse`
//! does. HTTP/1 clients get them unchanged except for the headers about the connection; for HTTP/2 they are parsed. The
//! end of a message is tracked here, so that excess bytes are never taken for the next answer.

use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use hyper::{Response, StatusCode};
use millrace_protocol::http::answer::{AnswerLines, AnswerPart, AnswerReader, Framing};
use millrace_protocol::http::head_lines::HeadLines;

use super::connection::HttpConnection;
use super::{Answer, Body, BodyError, plain};

/// The connection has to be cut: an answer that was begun cannot be completed, or there is nothing to send.
#[derive(Debug, thiserror::Error)]
#[error("the answer was aborted")]
pub(super) struct Cut;

/// Writes a message to an HTTP/1 connection; with `keeps` the connection may stay open. Returns whether it does, and an
/// answer for hyper, which has to write one to continue; that answer is left out.
pub(super) async fn send(
    connection: &Rc<HttpConnection>,
    mut body: Body,
    heads: bool,
    keeps: bool,
) -> Result<(bool, Answer), Cut> {
    let mut writer = Writer {
        reader: AnswerReader::new(heads),
        connection,
        keeps,
    };
    writer.wait_for_hyper().await;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let piece = frame.ok().and_then(|frame| frame.into_data().ok());
        writer.write(&piece.ok_or(Cut)?).await?;
    }
    if !writer.reader.is_whole() {
        return Err(Cut);
    }
    connection.wire.borrow_mut().hyper_output.mute.begin();
    Ok((writer.keeps, plain(StatusCode::NOT_FOUND, "")))
}

struct Writer<'c> {
    reader: AnswerReader,
    connection: &'c Rc<HttpConnection>,
    keeps: bool,
}

impl Writer<'_> {
    /// Waits until hyper has written its earlier output.
    async fn wait_for_hyper(&self) {
        poll_fn(|cx| {
            let output = &mut self.connection.wire.borrow_mut().hyper_output;
            output.poll_written(cx)
        })
        .await;
    }

    async fn write(&mut self, piece: &Bytes) -> Result<(), Cut> {
        let mut head = Vec::new();
        let (mut from, mut to) = (0, 0);
        loop {
            let rest = piece.get(to..).unwrap_or_default();
            let Some((count, part)) = self.reader.advance(rest).map_err(|_| Cut)? else {
                break;
            };
            match part {
                AnswerPart::Head(lines) => {
                    self.keeps &= !lines.closes && lines.framing != Framing::Closed;
                    head.extend_from_slice(piece.get(from..to).unwrap_or_default());
                    self.append_head(&lines, &mut head);
                    from = to + count;
                }
                AnswerPart::Excess => {
                    // excess bytes are dropped and show an error of the application, except for methods like HEAD
                    self.keeps &= self.reader.takes_no_body();
                    break;
                }
                AnswerPart::Informational
                | AnswerPart::Data
                | AnswerPart::Framing
                | AnswerPart::Trailers(_) => {}
            }
            to += count;
        }
        let body = piece.get(from..to).unwrap_or_default();
        self.send(&head, body).await
    }

    /// Appends a head, with Millrace's headers about the connection in place of the message's.
    fn append_head(&self, lines: &AnswerLines<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(lines.first);
        for (line, name) in lines.whole_lines() {
            let ours = name.eq_ignore_ascii_case(b"connection")
                || name.eq_ignore_ascii_case(b"keep-alive");
            if !ours {
                out.extend_from_slice(line);
            }
        }
        if self.keeps {
            out.extend_from_slice(b"Connection: keep-alive\r\nKeep-Alive: ");
            let service = &self.connection.around.service;
            out.extend_from_slice(service.keep_alive.as_bytes());
        } else {
            out.extend_from_slice(b"Connection: close");
        }
        out.extend_from_slice(b"\r\n\r\n");
    }

    async fn send(&self, head: &[u8], body: &[u8]) -> Result<(), Cut> {
        let (mut head, mut body) = (head, body);
        poll_fn(|cx| {
            while !head.is_empty() || !body.is_empty() {
                let slices = [IoSlice::new(head), IoSlice::new(body)];
                let slices = if head.is_empty() {
                    &slices[1..]
                } else {
                    &slices[..]
                };
                let count = ready!(self.connection.poll_write(cx, slices)).map_err(|_| Cut)?;
                if count == 0 {
                    return Poll::Ready(Err(Cut));
                }
                let of_head = count.min(head.len());
                head = head.get(of_head..).unwrap_or_default();
                body = body.get(count - of_head..).unwrap_or_default();
            }
            let around = &self.connection.around;
            let flushed = self.connection.wire.borrow_mut().poll_flush(cx, around);
            flushed.map_err(|_| Cut)
        })
        .await
    }
}

/// Parses a message for a protocol with other framing. Informational answers are left out.
pub(super) async fn unpack(answer: Answer, heads: bool) -> Answer {
    let mut message = Message {
        reader: AnswerReader::new(heads),
        body: answer.into_body(),
        rest: Bytes::new(),
    };
    let head = poll_fn(|cx| message.poll_head(cx)).await;
    let Some((status, headers)) = head else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error");
    };
    let body = if message.reader.takes_no_body() {
        Body::empty()
    } else {
        Body::Stream(Box::pin(message))
    };
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// The body of a message, and the bytes of it that are not parsed yet.
struct Message {
    reader: AnswerReader,
    body: Body,
    rest: Bytes,
}

impl Message {
    /// `None`: the message has no head.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Option<(StatusCode, HeaderMap)>> {
        loop {
            if self.rest.is_empty() && !ready!(self.poll_more(cx)).unwrap_or(false) {
                return Poll::Ready(None);
            }
            let rest = self.rest.clone();
            match self.reader.advance(&rest) {
                Ok(Some((count, AnswerPart::Head(lines)))) => {
                    let head = headers(&lines);
                    self.rest = rest.slice(count..);
                    return Poll::Ready(head);
                }
                Ok(Some((count, _))) => self.rest = rest.slice(count..),
                Ok(None) => {}
                Err(_) => return Poll::Ready(None),
            }
        }
    }

    /// Reads the next piece. False: the body has ended; `None`: the rest will not arrive.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Option<bool>> {
        Poll::Ready(match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            None => Some(false),
            Some(Err(_)) => None,
            Some(Ok(frame)) => {
                self.rest = frame.into_data().unwrap_or_default();
                Some(true)
            }
        })
    }
}

impl HttpBody for Message {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if self.rest.is_empty() {
                match ready!(self.poll_more(cx)) {
                    Some(true) => continue,
                    Some(false) if self.reader.is_whole() => return Poll::Ready(None),
                    _ => return Poll::Ready(Some(Err(Box::new(Cut)))),
                }
            }
            let rest = self.rest.clone();
            match self.reader.advance(&rest) {
                Ok(Some((count, part))) => {
                    self.rest = rest.slice(count..);
                    match part {
                        AnswerPart::Data => {
                            return Poll::Ready(Some(Ok(Frame::data(rest.slice(..count)))));
                        }
                        AnswerPart::Trailers(lines) if !lines.is_empty() => {
                            let trailers = fields(HeadLines::of(lines));
                            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                        }
                        _ => {}
                    }
                }
                Ok(None) => {}
                Err(_) => return Poll::Ready(Some(Err(Box::new(Cut)))),
            }
        }
    }
}

fn headers(lines: &AnswerLines<'_>) -> Option<(StatusCode, HeaderMap)> {
    let mut headers = fields(lines.lines());
    for name in [
        CONNECTION,
        TRANSFER_ENCODING,
        UPGRADE,
        KEEP_ALIVE,
        PROXY_CONNECTION,
    ] {
        headers.remove(name);
    }
    Some((StatusCode::from_u16(lines.status).ok()?, headers))
}

fn fields(lines: HeadLines<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            // a full map accepts no more
            let _full = headers.try_append(name, value);
        }
    }
    headers
}

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
