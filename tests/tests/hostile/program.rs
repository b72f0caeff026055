//! The program under attack: an operator with a controller that remembers the last state of each object.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use pilothouse::{
    prelude::*,
    resource::{ObjectKey, ObjectMeta},
};
use serde_json::{Value, json};

/// The kind of the tests.
#[derive(Resource, Clone, Debug)]
#[resource(group = "test.pilothouse.dev", version = "v1", namespaced)]
pub(crate) struct Widget {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: WidgetSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub(crate) struct WidgetSpec {
    pub(crate) size: i64,
}

/// Returns a widget of this size in the form of the server.
pub(crate) fn widget(size: i64) -> Value {
    json!({"metadata": {}, "spec": {"size": size}})
}

/// The last state that the reconciler saw of each object by namespace and name: its size, or `None` after a deletion.
pub(crate) type Seen = Arc<Mutex<BTreeMap<String, Option<i64>>>>;

/// The reconciler.
pub(crate) struct Keeper {
    pub(crate) seen: Seen,
    /// Whether it applies a ConfigMap for each widget.
    pub(crate) applies: bool,
}

impl Keeper {
    fn saw(&self, key: &ObjectKey, size: Option<i64>) {
        self.seen.lock().insert(key.to_string(), size);
    }
}

impl Reconciler for Keeper {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        match self.applies {
            true => controller.owns::<ConfigMap>(),
            false => controller,
        }
    }

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        if self.applies {
            let mut page = ConfigMap::named(widget.name());
            let size = widget.spec.size.to_string();
            page.data = Some([("size".to_owned(), size)].into());
            cx.apply(page).await?;
        }
        let key = widget.key();
        self.saw(&key, Some(widget.spec.size));
        Ok(Action::wait())
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<Widget>) -> Result<()> {
        self.saw(key, None);
        Ok(())
    }
}
