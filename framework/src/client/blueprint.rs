use std::sync::Arc;

use tower::Layer;

use super::{
    Deadlines,
    stack::{AnswerLayer, Dispatch, FenceLayer, RequestService, Steps, TotalLayer},
};

/// A user's layer, put around what is there.
pub(super) type AddLayer = Arc<dyn Fn(RequestService) -> RequestService + Send + Sync>;
/// A user's own way to put the steps together.
pub(super) type PutTogether = Arc<dyn Fn(Steps) -> RequestService + Send + Sync>;

/// What a client's stack is made of, so that further clients of the same settings can be made.
#[derive(Clone)]
pub(super) enum Blueprint {
    /// Steps down to connections.
    Steps {
        steps: Box<Steps>,
        put_together: Option<PutTogether>,
        layers: Vec<AddLayer>,
    },
    /// A service of the program.
    Service(RequestService),
}

impl Blueprint {
    /// The same on connections of its own, where there are any.
    pub(super) fn apart(&self, deadlines: &Deadlines) -> Self {
        let mut apart = self.clone();
        if let Self::Steps { steps, .. } = &mut apart {
            steps.total = TotalLayer::new(deadlines.total);
            steps.answer = AnswerLayer::new(deadlines);
            steps.back_pressure = steps.back_pressure.apart();
            steps.rate_limit = steps.rate_limit.apart();
            steps.pool = steps.pool.apart(deadlines.connect);
        }
        apart
    }

    /// The same behind one more fence.
    pub(super) fn fenced(&self, fence: FenceLayer) -> Self {
        let mut fenced = self.clone();
        match &mut fenced {
            Self::Steps { steps, .. } => steps.fence = steps.fence.and(fence),
            Self::Service(service) => *service = RequestService::new(fence.layer(service.clone())),
        }
        fenced
    }

    pub(super) fn stack(&self) -> Box<dyn Dispatch> {
        match self {
            Self::Service(service) => Box::new(service.clone()),
            Self::Steps {
                steps,
                put_together: None,
                layers,
            } if layers.is_empty() => Box::new(steps.request()),
            Self::Steps {
                steps,
                put_together,
                layers,
            } => {
                let stack = match put_together {
                    Some(put_together) => put_together(Steps::clone(steps)),
                    None => RequestService::new(steps.request()),
                };
                Box::new(layers.iter().fold(stack, |stack, add| add(stack)))
            }
        }
    }
}
