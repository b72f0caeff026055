//! The types that almost every operator needs: `use pilothouse::prelude::*;`.
//!
//! It has only the kinds that operators write most often. All other kinds are in [`k8s`](crate::k8s). `Result` is the one of
//! [`controller`](crate::controller), with [`Failure`] as its error.

pub use std::{collections::BTreeMap, process::ExitCode, sync::Arc, time::Duration};

pub use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            ConfigMap, ConfigMapVolumeSource, Container, PodSpec, PodTemplateSpec, Secret, Service,
            ServicePort, ServiceSpec, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector},
};
pub use serde::{Deserialize, Serialize};

pub use crate::{Resource, Schema};
pub use crate::{
    controller::{Action, Cleanup, Context, Controller, Failure, Reconciler, Result},
    events::NewEvent,
    operator::Operator,
    resource::{HasReadiness, Labels, Object, ObjectMeta},
};
