use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::{NONE, age, containers, count, items, number, selector, since, text_or, time};
use super::human_duration;
use super::printer::Printer;

pub(super) const JOBS: Printer = Printer {
    named: true,
    columns: &[
        ("Status", "string", 0),
        ("Completions", "string", 0),
        ("Duration", "string", 0),
        ("Age", "string", 0),
        ("Containers", "string", 1),
        ("Images", "string", 1),
        ("Selector", "string", 1),
    ],
    cells: |object, now| {
        let [names, images] = containers(object.pointer("/spec/template/spec"));
        vec![
            status(object).into(),
            completions(object).into(),
            duration(object, now).into(),
            age(object, now),
            names,
            images,
            selector(object.pointer("/spec/selector")).into(),
        ]
    },
};

pub(super) const CRON_JOBS: Printer = Printer {
    named: true,
    columns: &[
        ("Schedule", "string", 0),
        ("Timezone", "string", 0),
        ("Suspend", "boolean", 0),
        ("Active", "integer", 0),
        ("Last Schedule", "string", 0),
        ("Age", "string", 0),
        ("Containers", "string", 1),
        ("Images", "string", 1),
        ("Selector", "string", 1),
    ],
    cells: |object, now| {
        let [names, images] = containers(object.pointer("/spec/jobTemplate/spec/template/spec"));
        let suspended = object.pointer("/spec/suspend") == Some(&Value::Bool(true));
        let last = time(object, "/status/lastScheduleTime");
        vec![
            text_or(object, "/spec/schedule", NONE).into(),
            text_or(object, "/spec/timeZone", NONE).into(),
            if suspended { "True" } else { "False" }.into(),
            json!(count(object, "/status/active")),
            last.map_or_else(|| NONE.to_owned(), |last| since(Some(last), now))
                .into(),
            age(object, now),
            names,
            images,
            selector(object.pointer("/spec/jobTemplate/spec/selector")).into(),
        ]
    },
};

fn status(job: &Value) -> &'static str {
    let is = |name: &str| {
        items(job, "/status/conditions")
            .iter()
            .any(|condition| condition["type"] == name && condition["status"] == "True")
    };
    if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if job.pointer("/metadata/deletionTimestamp").is_some() {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let succeeded = number(job, "/status/succeeded");
    if job.pointer("/spec/completions").is_some() {
        return format!("{succeeded}/{}", number(job, "/spec/completions"));
    }
    match number(job, "/spec/parallelism") {
        parallelism if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
}

fn duration(job: &Value, now: Timestamp) -> String {
    let Some(start) = time(job, "/status/startTime") else {
        return String::new();
    };
    let end = time(job, "/status/completionTime").unwrap_or(now);
    human_duration(end.as_second() - start.as_second())
}
