//! HTTP/2 frames that violate the protocol, or that come at the wrong time.

use std::time::Duration;

use crate::{
    row::{Health, Row},
    server::frames::{
        ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PING, PRIORITY,
        PUSH_PROMISE, RST_STREAM, SETTINGS, Tamper, WINDOW_UPDATE, Wire,
    },
};

/// Returns a row over HTTP/2 that is hostile from the start.
fn frames(tamper: Tamper) -> Row {
    Row::from_the_start()
        .frames(tamper)
        // The client sends a read again once after a broken connection, and up to ten times if the server did not process it.
        .requests(150)
        .megabytes(4)
}

fn pass(frame: Frame) -> Vec<Wire> {
    vec![Wire::Frame(frame)]
}

fn flood(frame: Frame, every: u64) -> Wire {
    Wire::Flood(frame, Duration::from_millis(every))
}

/// Replaces the first frame of this kind.
macro_rules! instead_of_the_first {
    ($kind:expr, $frame:ident => $wires:expr) => {
        frames(|number, $frame| match $frame.kind == $kind && number == 1 {
            true => $wires,
            false => pass($frame),
        })
    };
}

/// Replaces each frame of this kind.
macro_rules! instead_of_each {
    ($kind:expr, $frame:ident => $wires:expr) => {
        frames(|_, $frame| match $frame.kind == $kind {
            true => $wires,
            false => pass($frame),
        })
    };
}

rows! {
    settings_that_never_come: http2 =>
        instead_of_each!(SETTINGS, frame => { let _ = frame; vec![Wire::Stall] }).reports(Health::NotReady("widgets")).recovers(100);
    settings_that_come_after_five_seconds: http2 =>
        instead_of_the_first!(SETTINGS, frame => vec![Wire::Pause(Duration::from_secs(5)), Wire::Frame(frame)]).reports(Health::Fresh);
    settings_that_allow_no_streams: http2 =>
        frames(|_, frame| match frame.is_settings() {
            true => vec![Wire::Frame(Frame::settings(&[(3, 0)]))],
            false => pass(frame),
        })
        .reports(Health::NotReady("widgets")).recovers(200);
    settings_that_allow_one_stream: http2 =>
        frames(|_, frame| match frame.is_settings() {
            true => vec![Wire::Frame(Frame::settings(&[(3, 1)]))],
            false => pass(frame),
        })
        .reports(Health::Fresh);
    settings_that_allow_no_streams_after_the_first: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(frame), Wire::Frame(Frame::settings(&[(3, 0)]))])
            .reports(Health::Truth).recovers(200);
    settings_with_too_large_a_window: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame::settings(&[(4, u32::MAX)])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    settings_with_a_window_of_zero: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame::settings(&[(4, 0)])), Wire::Frame(frame)])
            .reports(Health::Fresh);
    settings_with_too_small_frames: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame::settings(&[(5, 1)])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    settings_that_are_cut_off: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame::new(SETTINGS, 0, 0, [0, 3, 0])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    unknown_settings: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame::settings(&[(999, 1), (1, u32::MAX), (6, 0)])), Wire::Frame(frame)])
            .reports(Health::Fresh);
    an_acknowledgement_of_settings_that_were_never_sent: http2 =>
        instead_of_the_first!(HEADERS, frame => {
            let taken = || Wire::Frame(Frame::new(SETTINGS, ACK, 0, []));
            vec![taken(), taken(), taken(), Wire::Frame(frame)]
        })
        .reports(Health::NotReady("widgets"));
    a_flood_of_settings: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![flood(Frame::settings(&[(4, 65_535)]), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_flood_of_pings: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![flood(Frame::new(PING, 0, 0, [7; 8]), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_flood_of_unknown_frames: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![flood(Frame::new(0xfe, 0xff, 0, [1; 32]), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_flood_of_priorities: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![flood(Frame::new(PRIORITY, 0, frame.stream, [0, 0, 0, 0, 1]), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_flood_of_window_updates: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![flood(Frame::new(WINDOW_UPDATE, 0, 0, [0, 0, 0, 1]), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_flood_of_empty_data: http2 =>
        instead_of_the_first!(DATA, frame => vec![flood(Frame::new(DATA, 0, frame.stream, []), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets")).recovers(160);
    a_flood_of_empty_data_in_each_answer: http2 =>
        instead_of_each!(DATA, frame => vec![flood(Frame::new(DATA, 0, frame.stream, []), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets")).recovers(160);
    a_flood_of_data_with_only_padding: http2 =>
        instead_of_the_first!(DATA, frame => vec![flood(Frame::new(DATA, 8, frame.stream, [10; 11]), 5), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets")).recovers(160);
    a_flood_of_continuations: http2 =>
        instead_of_the_first!(HEADERS, frame => {
            let begun = Frame { flags: frame.flags & !END_HEADERS, ..frame.clone() };
            vec![Wire::Frame(begun), flood(Frame::new(CONTINUATION, 0, frame.stream, [0x40, 1, b'a', 1, b'b']), 5)]
        })
        .reports(Health::NotReady("too_many_continuations")).recovers(160);
    a_flood_of_empty_continuations: http2 =>
        instead_of_the_first!(HEADERS, frame => {
            let begun = Frame { flags: frame.flags & !END_HEADERS, ..frame.clone() };
            vec![Wire::Frame(begun), flood(Frame::new(CONTINUATION, 0, frame.stream, []), 5)]
        })
        .reports(Health::NotReady("widgets")).recovers(160);
    a_flood_of_interim_heads: http2 =>
        instead_of_each!(HEADERS, frame => {
            // `:status: 100` as a literal header.
            let interim = [&[0x08, 3][..], b"100"].concat();
            vec![flood(Frame::new(HEADERS, END_HEADERS, frame.stream, interim), 10), Wire::Frame(frame)]
        })
        .reports(Health::NotReady("not synced yet")).recovers(160);
    a_continuation_without_a_head: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame::new(CONTINUATION, END_HEADERS, frame.stream, [])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    a_head_that_is_never_finished: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame { flags: frame.flags & !END_HEADERS, ..frame }), Wire::Stall])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_head_that_is_garbage: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame { payload: vec![0xff; 40], ..frame })])
            .reports(Health::NotReady("widgets"));
    a_head_that_refers_to_a_missing_table_entry: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame { payload: vec![0xfe], ..frame })])
            .reports(Health::NotReady("widgets"));
    a_head_without_a_status: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame { payload: vec![0x00, 1, b'a', 1, b'b'], ..frame })])
            .reports(Health::NotReady("widgets"));
    a_head_with_ten_thousand_headers: http2 =>
        instead_of_each!(HEADERS, frame => {
            // `:status: 200`, then literal headers, as many as fit into frames of 16 KB.
            let header = [&[0x00, 1][..], b"a", &[1], b"b"].concat();
            let part = header.repeat(3_000);
            let first = [&[0x88][..], &part].concat();
            let mut wires = vec![Wire::Frame(Frame::new(HEADERS, 0, frame.stream, first))];
            wires.extend((0..2).map(|_| Wire::Frame(Frame::new(CONTINUATION, 0, frame.stream, part.clone()))));
            wires.push(Wire::Frame(Frame::new(CONTINUATION, END_HEADERS, frame.stream, part)));
            wires
        })
        .megabytes(60).reports(Health::NotReady("widgets"));
    a_head_of_a_megabyte: http2 =>
        instead_of_each!(HEADERS, frame => {
            // One value of 1 MB: its length in HPACK form, and the value over many frames.
            let mut block = vec![0x88, 0x00, 1, b'a', 0x7f, 0x81, 0xff, 0x3f];
            block.resize(block.len() + (1 << 20), b'b');
            let mut parts: Vec<Vec<u8>> = block.chunks(16_000).map(<[u8]>::to_vec).collect();
            let last = parts.pop().unwrap();
            let mut wires = vec![Wire::Frame(Frame::new(HEADERS, 0, frame.stream, parts.remove(0)))];
            wires.extend(parts.into_iter().map(|part| Wire::Frame(Frame::new(CONTINUATION, 0, frame.stream, part))));
            wires.push(Wire::Frame(Frame::new(CONTINUATION, END_HEADERS, frame.stream, last)));
            wires
        })
        .megabytes(200).reports(Health::NotReady("widgets"));
    two_heads_for_one_request: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(frame.clone()), Wire::Frame(frame)]).reports(Health::NotReady("widgets"));
    a_head_for_an_unopened_stream: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame { stream: 99, ..frame.clone() }), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    a_head_for_a_server_initiated_stream: http2 =>
        instead_of_the_first!(HEADERS, frame => vec![Wire::Frame(Frame { stream: 2, ..frame.clone() }), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    an_unrequested_push: http2 =>
        instead_of_each!(HEADERS, frame => {
            // Stream 2, with `:method: GET`, `:path: /`, `:scheme: http`.
            let promise = [0, 0, 0, 2, 0x82, 0x84, 0x86];
            vec![Wire::Frame(Frame::new(PUSH_PROMISE, END_HEADERS, frame.stream, promise)), Wire::Frame(frame)]
        })
        .reports(Health::NotReady("widgets"));
    data_before_the_head: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(DATA, 0, frame.stream, *b"{}")), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    data_for_stream_zero: http2 =>
        instead_of_each!(DATA, frame => vec![Wire::Frame(Frame { stream: 0, ..frame })]).reports(Health::NotReady("widgets"));
    data_after_the_end_of_the_stream: http2 =>
        instead_of_the_first!(DATA, frame => vec![
            Wire::Frame(Frame { flags: END_STREAM, ..frame.clone() }), Wire::Frame(frame.clone()), Wire::Frame(frame),
        ])
        .reports(Health::Truth);
    data_in_too_large_a_frame: http2 =>
        instead_of_each!(DATA, frame => vec![Wire::Frame(Frame { payload: vec![b' '; 1 << 20], ..frame })])
            .megabytes(200).reports(Health::NotReady("widgets"));
    data_with_more_padding_than_payload: http2 =>
        instead_of_each!(DATA, frame => vec![Wire::Frame(Frame { flags: 8, payload: vec![200, 1, 2], ..frame })])
            .reports(Health::NotReady("widgets"));
    data_that_stalls: http2 =>
        instead_of_each!(DATA, frame => {
            let half = frame.payload[..frame.payload.len() / 2].to_vec();
            vec![Wire::Frame(Frame { flags: 0, payload: half, ..frame }), Wire::Stall]
        })
        .reports(Health::NotReady("widgets")).recovers(160);
    data_byte_by_byte: http2 =>
        instead_of_each!(DATA, frame => {
            let single = |byte: &u8| Wire::Frame(Frame { flags: 0, payload: vec![*byte], ..frame.clone() });
            let mut wires: Vec<Wire> = frame.payload.iter().map(single).collect();
            wires.push(Wire::Frame(Frame { payload: vec![], ..frame }));
            wires
        })
        .reports(Health::Fresh);
    a_stall_after_the_head_of_each_answer: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(frame), Wire::Stall]).reports(Health::NotReady("widgets")).recovers(160);
    a_stall_before_the_head_of_each_answer: http2 =>
        instead_of_each!(HEADERS, frame => { let _ = frame; vec![Wire::Stall] }).reports(Health::NotReady("not synced yet")).recovers(160);
    a_reset_of_each_stream: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(RST_STREAM, 0, frame.stream, 2u32.to_be_bytes()))])
            .reports(Health::NotReady("widgets"));
    a_refusal_of_each_stream: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(RST_STREAM, 0, frame.stream, 7u32.to_be_bytes()))])
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_reset_of_each_stream_without_an_error: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(RST_STREAM, 0, frame.stream, 0u32.to_be_bytes()))])
            .reports(Health::NotReady("widgets"));
    a_reset_within_each_answer: http2 =>
        instead_of_each!(DATA, frame => vec![Wire::Frame(Frame::new(RST_STREAM, 0, frame.stream, 8u32.to_be_bytes()))])
            .reports(Health::NotReady("widgets"));
    a_reset_of_stream_zero: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(RST_STREAM, 0, 0, 2u32.to_be_bytes())), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    a_goaway_before_the_settings: http2 =>
        instead_of_each!(SETTINGS, frame => vec![Wire::Frame(Frame::goaway(0, 0)), Wire::Frame(frame), Wire::Close])
            .reports(Health::NotReady("widgets"));
    a_goaway_after_the_settings: http2 =>
        instead_of_each!(SETTINGS, frame => vec![Wire::Frame(frame), Wire::Frame(Frame::goaway(0, 0)), Wire::Close])
            .reports(Health::NotReady("widgets"));
    a_goaway_that_processed_no_request: http2 =>
        instead_of_each!(HEADERS, frame => { let _ = frame; vec![Wire::Frame(Frame::goaway(0, 0)), Wire::Close] })
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_goaway_before_each_answer: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::goaway(frame.stream, 0)), Wire::Frame(frame)])
            .reports(Health::Fresh);
    a_goaway_within_each_answer: http2 =>
        instead_of_each!(DATA, frame => vec![Wire::Frame(Frame::goaway(frame.stream, 0)), Wire::Frame(frame)])
            .reports(Health::Fresh);
    a_goaway_within_each_answer_that_then_ends: http2 =>
        instead_of_each!(DATA, frame => vec![Wire::Frame(Frame::goaway(frame.stream, 0)), Wire::Close])
            .reports(Health::NotReady("widgets"));
    a_goaway_with_enhance_your_calm: http2 =>
        instead_of_each!(HEADERS, frame => { let _ = frame; vec![Wire::Frame(Frame::goaway(0, 11)), Wire::Close] })
            .reports(Health::NotReady("not synced yet")).recovers(160);
    a_goaway_with_a_megabyte_of_debug_data: http2 =>
        instead_of_each!(HEADERS, frame => {
            let words = [&frame.stream.to_be_bytes()[..], &[0; 4], &[b'x'; 16_000]].concat();
            vec![Wire::Frame(Frame::new(GOAWAY, 0, 0, words)), Wire::Close]
        })
        .reports(Health::NotReady("widgets"));
    goaways_whose_last_stream_grows: http2 =>
        instead_of_each!(HEADERS, frame => vec![
            Wire::Frame(Frame::goaway(1, 0)), Wire::Frame(Frame::goaway(u32::MAX >> 1, 0)), Wire::Frame(frame),
        ])
        .reports(Health::Truth);
    a_window_update_of_zero: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(WINDOW_UPDATE, 0, 0, [0; 4])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    a_stream_window_update_of_zero: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(WINDOW_UPDATE, 0, frame.stream, [0; 4])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    a_window_that_overflows: http2 =>
        instead_of_each!(HEADERS, frame => {
            let most = || Wire::Frame(Frame::new(WINDOW_UPDATE, 0, 0, (u32::MAX >> 1).to_be_bytes()));
            vec![most(), most(), Wire::Frame(frame)]
        })
        .reports(Health::NotReady("widgets"));
    a_ping_that_is_too_short: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(PING, 0, 0, [1, 2])), Wire::Frame(frame)])
            .reports(Health::NotReady("widgets"));
    acknowledgements_of_pings_that_were_never_sent: http2 =>
        instead_of_each!(HEADERS, frame => vec![Wire::Frame(Frame::new(PING, ACK, 0, [9; 8])), Wire::Frame(frame)])
            .reports(Health::Fresh);
    pings_that_are_never_answered_after_sync: http2 =>
        Row { synced: true, ..instead_of_each!(PING, frame => { let _ = frame; vec![] }) }
            .reports(Health::Truth).recovers(160);
}
