use std::{fmt, io::Write};

use serde_json::{Value, value::Number};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, fmt::MakeWriter, layer::Context, registry::LookupSpan};

/// The fields of every line. A field of an event with one of these names gets an underscore at its end.
const OWN: [&str; 3] = ["timestamp", "level", "target"];

/// Writes each event as one line of JSON: `timestamp` (RFC 3339 in UTC), `level`, `target`, `message`, the event's
/// fields, and the fields of the surrounding spans. If several have the same field, the innermost counts.
///
/// tracing-subscriber's JSON format is not used: it puts a span's fields next to the span's own `name`, which hides
/// the name of the reconciled object.
pub(super) struct JsonLines<W> {
    writer: W,
}

impl<W> JsonLines<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer }
    }
}

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.add(outer);
            }
        }
        let now = format!("{:.6}", jiff::Timestamp::now());
        let level = metadata.level().as_str();
        let line = fields.line([&now, level, metadata.target()]);
        // If standard error is closed, the line cannot be written.
        let _ = self
            .writer
            .make_writer_for(metadata)
            .write_all(line.as_bytes());
    }
}

/// Fields in the order of their arrival. Each name appears once.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds the fields of an outer span whose names are not present yet.
    fn add(&mut self, outer: &Self) {
        for (name, value) in &outer.0 {
            if self.0.iter().all(|(known, _)| known != name) {
                self.0.push((name, value.clone()));
            }
        }
    }

    /// Formats the line: first the fields of every line, then the message, then the rest.
    fn line(mut self, own: [&str; 3]) -> String {
        self.0.sort_by_key(|(name, _)| *name != "message");
        let mut line = String::from("{");
        for (name, value) in OWN.iter().zip(own) {
            put(&mut line, name, &Value::from(value));
        }
        for (name, value) in &self.0 {
            let name = name.strip_prefix("r#").unwrap_or(name);
            match OWN.contains(&name) {
                true => put(&mut line, &format!("{name}_"), value),
                false => put(&mut line, name, value),
            }
        }
        line.push_str("}\n");
        line
    }
}

fn put(line: &mut String, name: &str, value: &Value) {
    if line.len() > 1 {
        line.push(',');
    }
    line.push_str(&format!("{}:{value}", Value::from(name)));
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has neither infinity nor NaN.
        let number = Number::from_f64(value).map(Value::Number);
        self.set(field, number.unwrap_or_else(|| value.to_string().into()));
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use parking_lot::Mutex;
    use serde_json::json;
    use tracing::{field::Empty, subscriber::with_default};
    use tracing_subscriber::prelude::*;

    use super::*;

    /// The lines that `work` logs, parsed as JSON objects.
    fn logged(work: impl FnOnce()) -> Vec<Value> {
        #[derive(Clone, Default)]
        struct Shared(Arc<Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().extend(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let shared = Shared::default();
        let writer = shared.clone();
        let lines = JsonLines::new(move || writer.clone());
        with_default(tracing_subscriber::registry().with(lines), work);
        let text = String::from_utf8(shared.0.lock().clone()).unwrap();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn the_line_of_an_event_has_the_fields_of_its_spans() {
        let mut lines = logged(|| {
            let reconcile = tracing::error_span!(
                "reconcile",
                controller = "websites",
                namespace = "default",
                name = "hello",
                reconcile_id = 7_u64,
                cause = %"owned",
            );
            let _reconcile = reconcile.entered();
            let request = tracing::error_span!("request", status = Empty, name = "inner");
            let _request = request.clone().entered();
            request.record("status", 409_u16);
            tracing::warn!(level = "high", ratio = f64::NAN, "a \"conflict\"\nagain");
        });
        let mut line = lines.remove(0);
        let time = line["timestamp"].take();
        assert!(time.as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        let expected = json!({
            "timestamp": null,
            "level": "WARN",
            "target": module_path!(),
            "message": "a \"conflict\"\nagain",
            "level_": "high",
            "ratio": "NaN",
            "controller": "websites",
            "namespace": "default",
            "name": "inner",
            "reconcile_id": 7,
            "cause": "owned",
            "status": 409,
        });
        assert_eq!(line, expected);
        assert!(lines.is_empty());
    }
}
