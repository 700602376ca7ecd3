//! The channels as JSON: page by page, those whose name contains a text, or the largest. Looks at a part of them at a
//! time, and lets the shard do other work in between.

use millrace_core::{Bookmark, ChannelSummary};
use millrace_protocol::append_json_string;

use super::limits::FixedAdminLimits;
use super::tap::hex;
use crate::contract::Hub;

/// Which channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those behind a bookmark whose name contains these bytes.
    Behind(Bookmark, Vec<u8>),
    /// Those with the most subscribers.
    Largest,
}

/// The channels that are `wanted`, at most `most`, as one object.
pub(super) async fn text(hub: &Hub, wanted: &Wanted, most: usize) -> String {
    let limits = FixedAdminLimits::default();
    let most = most.clamp(1, limits.channels_listed);
    let (rows, next) = match wanted {
        Wanted::Behind(from, find) => behind(hub, (*from, find), most).await,
        Wanted::Largest => (largest(hub, most).await, None),
    };
    let mut out = b"{\"channels\":[".to_vec();
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        append(row, limits.shown_name_bytes, &mut out);
    }
    out.extend_from_slice(b"],\"next\":");
    match next {
        None => out.extend_from_slice(b"null"),
        Some(next) => append_json_string(&next.to_string(), &mut out),
    }
    out.extend_from_slice(b"}\n");
    String::from_utf8(out).unwrap_or_default()
}

async fn behind(
    hub: &Hub,
    (from, find): (Bookmark, &[u8]),
    most: usize,
) -> (Vec<ChannelSummary>, Option<Bookmark>) {
    let limits = FixedAdminLimits::default();
    let is_meant = |row: &ChannelSummary| {
        let shown = begin(row, limits.shown_name_bytes);
        find.is_empty() || shown.windows(find.len()).any(|part| part == find)
    };
    let (mut rows, mut searched) = (Vec::new(), 0);
    let mut next = Some(from);
    while let Some(from) = next
        && rows.len() < most
        && searched < limits.channels_searched
    {
        let (page, further) = hub.core().list_channels(from, most - rows.len());
        next = further;
        searched += page.len();
        let is_empty = page.is_empty();
        rows.extend(page.into_iter().filter(is_meant));
        if !is_empty {
            tokio::task::yield_now().await;
        }
    }
    (rows, next)
}

async fn largest(hub: &Hub, most: usize) -> Vec<ChannelSummary> {
    let mut rows = Vec::new();
    let mut next = Some(Bookmark::default());
    while let Some(from) = next {
        let (page, further) = hub.core().largest_channels(from, most);
        next = further;
        if !page.is_empty() {
            rows.extend(page);
            rows.sort_by_key(|row: &ChannelSummary| std::cmp::Reverse(row.subscribers));
            rows.truncate(most);
            tokio::task::yield_now().await;
        }
    }
    rows
}

/// The part of a name that is shown.
fn begin(row: &ChannelSummary, most: usize) -> &[u8] {
    let name = row.name.as_bytes();
    name.get(..most).unwrap_or(name)
}

/// Appends a channel. What is added here gets a column in `COLUMNS` of the page.
fn append(row: &ChannelSummary, most: usize, out: &mut Vec<u8>) {
    let (name, shown) = (row.name.as_bytes(), begin(row, most));
    out.extend_from_slice(b"{\"name\":");
    append_json_string(&String::from_utf8_lossy(shown), out);
    if shown.len() < name.len() {
        out.extend_from_slice(format!(",\"nameBytes\":{}", name.len()).as_bytes());
    } else if std::str::from_utf8(shown).is_err() {
        out.extend_from_slice(b",\"hex\":\"");
        out.extend(shown.iter().flat_map(|byte| hex(*byte)));
        out.push(b'"');
    }
    out.extend_from_slice(format!(",\"subscribers\":{}", row.subscribers).as_bytes());
    if let Some(present) = row.present {
        out.extend_from_slice(format!(",\"members\":{present}").as_bytes());
    }
    if let Some(past) = &row.history {
        let text = format!(
            ",\"history\":{{\"messages\":{},\"bytes\":{},\"offset\":{},\"epoch\":\"{}\",\"behind\":{}}}",
            past.messages, past.bytes, past.position.offset, past.position.epoch, past.behind
        );
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use millrace_core::{Name, Space};

    use super::*;

    fn shown(name: &[u8]) -> String {
        let row = ChannelSummary {
            name: Name::new(Space::Channel, name),
            subscribers: 2,
            history: None,
            present: None,
        };
        let mut out = Vec::new();
        append(&row, 10, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_are_texts_with_their_bytes_where_they_need_them() {
        assert_eq!(
            shown(b"<b>\"\n"),
            "{\"name\":\"<b>\\\"\\n\",\"subscribers\":2}"
        );
        assert_eq!(
            shown(b"a\xff"),
            "{\"name\":\"a\u{fffd}\",\"hex\":\"61ff\",\"subscribers\":2}"
        );
        assert_eq!(
            shown(b"0123456789ab"),
            "{\"name\":\"0123456789\",\"nameBytes\":12,\"subscribers\":2}"
        );
    }
}
