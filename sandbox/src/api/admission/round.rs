use std::collections::BTreeSet;

use serde_json::Value;

/// What the rounds of mutating admission remember: which webhooks or policies were asked, and which are to be asked again.
#[derive(Default)]
pub(super) struct Round {
    is_second: bool,
    /// Those that were asked and want to see later changes.
    asked: BTreeSet<String>,
    /// Those to ask again.
    again: BTreeSet<String>,
    /// The object after the first round.
    output: Option<Value>,
}

impl Round {
    /// The number of the round.
    pub(super) fn number(&self) -> u8 {
        self.is_second.into()
    }

    /// Whether this one is to be asked. One that was not asked in the first round is not asked in the second.
    pub(super) fn wants(&self, id: &str) -> bool {
        !self.is_second || self.again.contains(id)
    }

    /// It was asked. `policy` says whether it wants to see later changes.
    pub(super) fn asked(&mut self, id: String, policy: &Value) {
        if policy == "IfNeeded" {
            self.asked.insert(id);
        }
    }

    /// All that were asked so far are to see the object again.
    pub(super) fn changed(&mut self) {
        self.again.append(&mut self.asked);
    }

    /// Ends the round with this object.
    pub(super) fn end(&mut self, object: Option<&Value>) {
        self.output = object.cloned();
    }

    /// Begins the second round, with what the plugins before made of the object.
    pub(super) fn second(&mut self, object: Option<&Value>) {
        self.is_second = true;
        if self.output.as_ref() != object {
            self.changed();
        }
    }
}
