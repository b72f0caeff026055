//! Watches, lists and objects in the forms that a client can request: whole, as tables, metadata only.

use serde_json::json;

use super::{lists::fill, watch_lists::INITIAL};
use crate::run::{Ask, Run};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

pub(crate) async fn of_answers(run: &mut Run) {
    for (kind, path) in fill(run).await {
        let forms = [
            ("table", TABLE.to_owned()),
            ("metadata", PARTIAL.to_owned()),
            (
                "metadata of a list",
                PARTIAL.replace("Metadata", "MetadataList"),
            ),
            ("metadata or all", format!("{PARTIAL},application/json")),
            ("older table", TABLE.replace("v=v1", "v=v1beta1")),
            ("older metadata", PARTIAL.replace("v=v1", "v=v1beta1")),
            (
                "older metadata of a list",
                PARTIAL
                    .replace("Metadata", "MetadataList")
                    .replace("v=v1", "v=v1beta1"),
            ),
            ("stream", "application/json;stream=watch".into()),
            ("anything", "*/*".into()),
        ];
        let mut steps = Vec::new();
        for (form, accept) in &forms {
            for (how, query) in [
                (
                    "watched",
                    "watch=true&timeoutSeconds=1&labelSelector=odd%3Dtrue".to_owned(),
                ),
                (
                    "from the state",
                    format!("watch=true&timeoutSeconds=1&labelSelector=odd%3Dtrue&{INITIAL}"),
                ),
                ("listed", "labelSelector=odd%3Dtrue".into()),
                ("listed in pages", "limit=1".into()),
            ] {
                if form.ends_with("metadata of a list") && query.starts_with("watch") {
                    continue;
                }
                let ask = Ask::get(format!("{path}?{query}")).accept(accept);
                steps.push((format!("{kind}: {form} {how}"), ask));
            }
            let ask = Ask::get(format!("{path}/o1")).accept(accept);
            steps.push((format!("{kind}: {form} of one"), ask));
            let ask = Ask::get(format!("{path}/none")).accept(accept);
            steps.push((format!("{kind}: {form} of none"), ask));
            let ask = Ask::delete(format!("{path}?labelSelector=odd%3Dnone")).accept(accept);
            steps.push((format!("{kind}: {form} of a deletion of many"), ask));
        }
        for include in ["None", "Object", "Metadata", "Odd"] {
            let query = format!("watch=true&timeoutSeconds=1&includeObject={include}&{INITIAL}");
            let ask = Ask::get(format!("{path}?{query}")).accept(TABLE);
            steps.push((format!("{kind}: table with {include}"), ask));
        }
        for query in [
            "watch=true&timeoutSeconds=4&allowWatchBookmarks=true",
            "watch=true&timeoutSeconds=2&allowWatchBookmarks=true",
            "watch=true&timeoutSeconds=0x1",
            "watch=1&timeoutSeconds=1",
            "watch=TRUE&timeoutSeconds=1",
            "watch=x&timeoutSeconds=1",
            "watch&timeoutSeconds=1",
            "watch=&timeoutSeconds=1",
            "watch=false",
            "watch=0",
        ] {
            let ask = Ask::get(format!("{path}?{query}&labelSelector=odd%3Dtrue"));
            steps.push((format!("{kind}: {query}"), ask));
        }
        run.steps(steps).await;
        for (form, accept) in &forms {
            let labels = json!({"metadata": {"labels": {"form": form.replace(' ', "-")}}});
            let ask = Ask::merge(format!("{path}/o1"), labels).accept(accept);
            run.step(format!("{kind}: {form} patched"), ask).await;
        }
        let mut watch = run
            .watch(format!(
                "{path}?watch=true&fieldSelector=metadata.name%3Do4"
            ))
            .await;
        run.send_unrecorded(Ask::delete(format!("{path}/o4"))).await;
        let events = watch.events(2).await;
        run.record(format!("{kind}: deleted"), events);
    }
}
