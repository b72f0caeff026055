use std::sync::Arc;

use tower::Layer;

use crate::client::{
    Deadlines, RequestService,
    stack::{Dispatch, FenceLayer, ResponseDeadlineLayer, Steps, TotalLayer},
};

/// Puts a layer of the user around a stack.
pub(crate) type AddLayer = Arc<dyn Fn(RequestService) -> RequestService + Send + Sync>;
/// Builds a stack from the steps in the user's own way.
pub(crate) type BuildStack = Arc<dyn Fn(Steps) -> RequestService + Send + Sync>;

/// Builds the stack of a client, and the stacks of further clients with the same settings.
#[derive(Clone)]
pub(crate) enum StackFactory {
    /// The steps down to the connections.
    Steps {
        steps: Box<Steps>,
        build_stack: Option<BuildStack>,
        layers: Vec<AddLayer>,
    },
    /// A service of the program takes the place of the stack.
    Service(RequestService),
}

impl StackFactory {
    /// The same stack with its own connections, if it has connections.
    pub(crate) fn with_own_connections(&self, deadlines: &Deadlines) -> Self {
        let mut factory = self.clone();
        if let Self::Steps { steps, .. } = &mut factory {
            steps.total = TotalLayer::new(deadlines.total);
            steps.response_deadline = ResponseDeadlineLayer::new(deadlines);
            steps.back_pressure = steps.back_pressure.unshared();
            steps.rate_limit = steps.rate_limit.unshared();
            steps.pool = steps.pool.unshared(deadlines.connect);
        }
        factory
    }

    /// The same stack with one more fence.
    pub(crate) fn fenced(&self, fence: FenceLayer) -> Self {
        let mut fenced = self.clone();
        match &mut fenced {
            Self::Steps { steps, .. } => steps.fence = steps.fence.and(fence),
            Self::Service(service) => *service = RequestService::new(fence.layer(service.clone())),
        }
        fenced
    }

    pub(crate) fn stack(&self) -> Box<dyn Dispatch> {
        match self {
            Self::Service(service) => Box::new(service.clone()),
            Self::Steps {
                steps,
                build_stack: None,
                layers,
            } if layers.is_empty() => Box::new(steps.request()),
            Self::Steps {
                steps,
                build_stack,
                layers,
            } => {
                let stack = match build_stack {
                    Some(build_stack) => build_stack(Steps::clone(steps)),
                    None => RequestService::new(steps.request()),
                };
                Box::new(layers.iter().fold(stack, |stack, add| add(stack)))
            }
        }
    }
}
