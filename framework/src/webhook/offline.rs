//! Webhooks in a test of their own, without HTTP.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{Denied, ReadCaches, Warnings, Webhook, patch::apply, review::ReviewRequest};

impl Webhook {
    /// Decides about a review, and changes its object as an API server would.
    pub(crate) async fn admit(
        &self,
        review: &mut Value,
        caches: &ReadCaches,
    ) -> Result<Warnings, Denied> {
        let wrong = |problem: String| Denied::with(500, "InternalError", problem);
        let request = ReviewRequest::read(review.to_string().as_bytes());
        let request = request.map_err(|refused| wrong(refused.message))?;
        self.check_kind(&request)
            .map_err(|refused| wrong(refused.message))?;
        let limit = self.rules.timeout;
        let decided = self.decide(request, Instant::now() + limit, caches.clone());
        let decided = timeout(limit, decided).await;
        let decision = decided.map_err(|_| wrong(late(limit)))?;
        let allowed = decision.outcome?;
        let object = &mut review["request"]["object"];
        apply(object, &allowed.patch)
            .map_err(|path| wrong(format!("the patch names {path}, which does not exist")))?;
        Ok(allowed.warnings)
    }

    /// Whether the rules name this operation on the object itself. Selectors and match conditions are not evaluated.
    pub(crate) fn admits(&self, operation: super::Operation) -> bool {
        let rules = &self.rules;
        rules.operations.contains(&operation) && rules.subresources.iter().any(String::is_empty)
    }

    /// Whether it changes objects.
    pub(crate) fn is_mutation(&self) -> bool {
        self.mutates
    }
}

fn late(limit: Duration) -> String {
    format!("the webhook did not decide within {limit:?}")
}
