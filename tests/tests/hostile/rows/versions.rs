//! Wrong versions and UIDs.

use serde_json::{Value, json};

use crate::{
    row::{Health, Row},
    server::{
        Asked, Server,
        act::{Act, Step, event, repeat},
        world::list_of,
    },
};

fn watches(answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    Row::after_sync().server(move |server, asked| {
        (asked.is_of_widgets() && asked.is_plain_watch()).then(|| answer(server, asked))
    })
}

/// Returns an object of the server with changed fields, such as UID, name, version or size.
fn like(server: &Server, change: impl Fn(&mut Value)) -> Value {
    let same = server.read(|world| world.get("widgets", ("default", "same")).cloned());
    let mut same = same.unwrap();
    change(&mut same);
    same
}

/// Returns a watch with an event every 50 ms, each a changed copy of the object `same`.
fn stream(server: &Server, change: impl Fn(u64, &mut Value) + Send + 'static) -> Act {
    let server = server.clone();
    Act::steps(repeat(vec![], 50, move |number| {
        server
            .is_hostile()
            .then(|| event("MODIFIED", &like(&server, |object| change(number, object))))
    }))
}

fn lists_at(version: &'static str) -> Row {
    Row::from_the_start().server(move |server, asked| {
        if !asked.is_of_widgets() || !asked.is_any_list() {
            return None;
        }
        let objects = server.read(|world| world.list("widgets", None));
        Some(match asked.is_list() {
            true => Act::json(200, &list_of("widgets", &objects, version, "")),
            false => Act::status(422, "Invalid"),
        })
    })
}

rows! {
    versions_that_go_backwards_in_a_watch =>
        watches(|server, _| stream(server, |number, object| {
            object["metadata"]["resourceVersion"] = json!((1_000_000 - number).to_string());
        }))
        .forgets();
    versions_that_go_backwards_between_watches =>
        watches(|server, _| {
            let old = like(server, |object| object["metadata"]["resourceVersion"] = json!("1"));
            Act::steps(vec![event("MODIFIED", &old)])
        });
    empty_versions_in_a_watch =>
        watches(|server, _| stream(server, |number, object| {
            object["metadata"]["resourceVersion"] = json!("");
            object["spec"]["size"] = json!(number);
        }))
        .megabytes(4).reports(Health::Anything).forgets();
    missing_versions_in_a_watch =>
        watches(|server, _| stream(server, |number, object| {
            object["metadata"]["resourceVersion"] = Value::Null;
            object["spec"]["size"] = json!(number);
        }))
        .megabytes(4).reports(Health::Anything).forgets();
    versions_that_are_not_numbers_in_a_watch =>
        watches(|server, _| stream(server, |number, object| {
            object["metadata"]["resourceVersion"] = json!(format!("v-{number:x}"));
        }))
        .megabytes(4).reports(Health::Anything).forgets();
    versions_that_repeat_with_other_content =>
        watches(|server, _| stream(server, |number, object| object["spec"]["size"] = json!(number)))
            .megabytes(4).reports(Health::Anything).forgets();
    versions_larger_than_any_integer_in_a_watch =>
        watches(|server, _| stream(server, |number, object| {
            object["metadata"]["resourceVersion"] = json!(format!("{number}{}", "9".repeat(40)));
        }))
        .megabytes(4).reports(Health::Anything).forgets();
    negative_versions_in_a_watch =>
        watches(|server, _| stream(server, |number, object| {
            object["metadata"]["resourceVersion"] = json!(format!("-{number}"));
        }))
        .megabytes(4).reports(Health::Anything).forgets();
    versions_of_a_hundred_thousand_digits_in_a_watch =>
        watches(|server, _| {
            let long = like(server, |object| object["metadata"]["resourceVersion"] = json!("9".repeat(100_000)));
            Act::steps(vec![event("MODIFIED", &long), Step::Forever])
        })
        .megabytes(60).reports(Health::Anything).forgets().recovers(160);
    a_list_whose_version_is_empty => lists_at("").reports(Health::Anything);
    a_list_whose_version_is_zero => lists_at("0").reports(Health::Anything);
    a_list_whose_version_is_not_a_number => lists_at("latest").reports(Health::Truth);
    a_list_whose_version_is_larger_than_any_integer => lists_at("99999999999999999999999999999999").reports(Health::Truth);
    a_list_whose_version_is_in_the_future => lists_at("9999999999").reports(Health::Anything).recovers(130);
    a_list_whose_version_breaks_the_url => lists_at("1&watch=false#\r\n x").reports(Health::Truth);
    lists_whose_versions_go_backwards =>
        Row::after_sync()
            .server(|server, asked| {
                if asked.is_plain_watch() {
                    return Some(Act::status(410, "Expired"));
                }
                let objects = server.read(|world| world.list("widgets", None));
                let version = 1_000usize.saturating_sub(asked.number).to_string();
                match asked.is_list() {
                    true => Some(Act::json(200, &list_of("widgets", &objects, &version, ""))),
                    false => asked.is_streamed_list().then(|| Act::status(422, "Invalid")),
                }
            });
    a_uid_that_changes_with_each_event =>
        watches(|server, _| {
            let version = server.read(|world| world.version());
            stream(server, move |number, object| {
                object["metadata"]["uid"] = json!(format!("other-{number}"));
                object["metadata"]["resourceVersion"] = json!((version + number).to_string());
            })
        })
        .megabytes(4).reports(Health::Anything).forgets();
    a_uid_that_moves_from_name_to_name =>
        watches(|server, _| {
            let version = server.read(|world| world.version());
            stream(server, move |number, object| {
                object["metadata"]["name"] = json!(format!("moved-{}", number % 5));
                object["metadata"]["resourceVersion"] = json!((version + number).to_string());
            })
        })
        .megabytes(4).reports(Health::Anything).forgets();
    a_uid_that_is_empty_or_missing =>
        watches(|server, _| {
            let version = server.read(|world| world.version());
            stream(server, move |number, object| {
                object["metadata"]["uid"] = if number % 2 == 0 { json!("") } else { Value::Null };
                object["metadata"]["resourceVersion"] = json!((version + number).to_string());
            })
        })
        .megabytes(4).reports(Health::Anything).forgets();
    a_list_that_contains_an_object_twice =>
        Row::from_the_start().server(|server, asked| {
            if !asked.is_of_widgets() || !asked.is_any_list() {
                return None;
            }
            let mut objects = server.read(|world| world.list("widgets", None));
            objects.extend(objects.clone());
            objects.extend(objects.clone());
            Some(match asked.is_list() {
                true => Act::json(200, &list_of("widgets", &objects, &server.version(), "")),
                false => Act::status(422, "Invalid"),
            })
        })
        .reports(Health::Fresh);
}
