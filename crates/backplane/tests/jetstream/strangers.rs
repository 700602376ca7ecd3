//! What other programs and operators do to the streams, and servers that do not let nodes use them.

use millrace_backplane::Credentials;
use millrace_backplane::store::{Append, StoreError};

use crate::node::{ALL, MANY, Node, message, texts, until};
use crate::server::Server;

/// A channel whose name is its token on the server.
const HALL: &[u8] = b"hall";

fn hall(text: &str) -> Append {
    Append {
        channel: HALL.into(),
        ..message(text)
    }
}

fn offset(node: &Node) -> Option<u64> {
    node.view(HALL).map(|view| view.position.offset)
}

#[test]
fn what_other_programs_publish_is_dropped_and_counted() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.follow(HALL, MANY);
    until("the hall to be filled", || offset(&node) == Some(0));
    let told = server.subject('t', "hall");
    for number in 1..=5 {
        server.publish(&told, b"hello");
        node.append(hall(&number.to_string())).unwrap();
    }
    until("all to arrive", || offset(&node) == Some(5));
    assert_eq!(node.view(HALL).unwrap().fills, 1);
    until("all to be counted", || node.stats().foreign == 5);
    let reports = node.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("hall"), "{reports:?}");
}

#[test]
fn messages_of_other_programs_in_a_stream_are_left_out() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    nodes[0].follow(HALL, MANY);
    until("the hall to be filled", || offset(&nodes[0]) == Some(0));
    let kept = server.subject('h', "hall");
    for number in 1..=5_u64 {
        server.publish(&kept, b"hello");
        let node = &nodes[usize::from(number % 2 == 0)];
        let position = node.append(hall(&number.to_string())).unwrap().position;
        assert_eq!(position.offset, number);
    }
    until("all to arrive", || offset(&nodes[0]) == Some(5));
    let view = nodes[0].view(HALL).unwrap();
    assert_eq!((view.texts().len(), view.fills), (5, 1));
    until("all to be counted", || {
        nodes.iter().map(|node| node.stats().foreign).sum::<u64>() >= 5
    });
    assert_eq!(nodes[1].stats().renewed + nodes[0].stats().renewed, 0);
    // one behind everything, for a node that knows nothing
    server.publish(&kept, b"hello");
    let other = Node::start(&server.config(), 3);
    other.follow(HALL, MANY);
    until("the hall to be filled", || offset(&other) == Some(5));
    assert_eq!(other.view(HALL).unwrap().texts(), view.texts());
    // and one in front of everything
    server.publish(&server.subject('h', "other"), b"hello");
    let first = Append {
        channel: (*b"other").into(),
        ..message("x")
    };
    assert_eq!(other.append(first).unwrap().position.offset, 1);
}

#[test]
fn a_server_without_jetstream_says_so() {
    let Some(server) = Server::with("") else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    assert_eq!(node.append(message("x")), Err(StoreError::Away));
    let reports = node.reports();
    assert!(reports[0].contains("JetStream"), "{reports:?}");
    assert!(reports[0].contains("not enabled"), "{reports:?}");
}

#[test]
fn an_account_without_jetstream_says_so() {
    let lines = "jetstream {}\naccounts { a: { users: [{user: op, password: op}] } }";
    let Some(server) = Server::with(lines) else {
        return;
    };
    let mut config = server.config();
    config.credentials = user("op");
    let node = Node::start(&config, 1);
    assert_eq!(node.append(message("x")), Err(StoreError::Away));
    let reports = node.reports();
    assert!(reports[0].contains("not enabled"), "{reports:?}");
}

fn user(name: &str) -> Credentials {
    Credentials {
        user: Some(name.to_owned()),
        password: Some(name.to_owned()),
        ..Credentials::default()
    }
}

#[test]
fn an_account_needs_the_permissions_of_the_store() {
    let users = "jetstream {}\nauthorization { users: [\
        {user: op, password: op},\
        {user: reader, password: reader, permissions: {\
            publish: [\"$JS.API.>\"], subscribe: [\">\"]}},\
        {user: writer, password: writer, permissions: {\
            publish: [\">\"], subscribe: [\"_INBOX.>\"]}},\
        {user: guest, password: guest, permissions: {\
            publish: {deny: [\"$JS.API.STREAM.CREATE.>\"]}}},\
        {user: nobody, password: nobody, permissions: {\
            publish: [\"x\"], subscribe: [\"_INBOX.>\"]}}\
    ]}";
    let Some(server) = Server::with(users) else {
        return;
    };
    let node = |name: &str, number| {
        let mut config = server.config();
        config.credentials = user(name);
        Node::start(&config, number)
    };
    let whole = node("op", 1);
    assert_eq!(whole.publish("x").offset, 1);
    // it reads, and may not publish
    let reader = node("reader", 2);
    assert_eq!(texts(&reader.read(MANY, ALL).unwrap().entries), ["x"]);
    assert_eq!(reader.append(message("y")), Err(StoreError::Refused));
    // it publishes, and may not follow
    let writer = node("writer", 3);
    writer.follow(HALL, MANY);
    until("the node to be told", || !writer.failures().is_empty());
    assert_eq!(writer.publish("y").offset, 2);
    assert_eq!(writer.reports().len(), 1, "{:?}", writer.reports());
    // it would make the stream again that is deleted below
    drop(writer);
    let nobody = node("nobody", 4);
    assert_eq!(nobody.append(message("z")), Err(StoreError::Away));
    let reports = nobody.reports();
    assert!(reports[0].contains("ermissions"), "{reports:?}");
    // it does all but make streams, which an operator must know when one is missing
    let guest = node("guest", 6);
    assert_eq!(guest.publish("z").offset, 3);
    let delete = format!("$JS.API.STREAM.DELETE.{}", server.stream());
    assert!(server.ask(&delete, "").contains("\"success\":true"));
    until("the operator to be told", || {
        let _fails = guest.read(MANY, ALL);
        let reports = guest.reports();
        reports.iter().any(|report| report.contains("ermissions"))
    });
    until("another to make it", || whole.append(message("a")).is_ok());
    until("the guest to go on", || guest.append(message("b")).is_ok());
    // a wrong password
    let mut config = server.config();
    config.credentials = user("op");
    config.credentials.password = Some("hush-hush".to_owned());
    let stranger = Node::start(&config, 5);
    assert_eq!(stranger.append(message("z")), Err(StoreError::Away));
    assert!(!stranger.reports()[0].contains("hush-hush"));
}
