//! The statuses of the built-in kinds, as k8s-openapi has them: the kinds with a field `status` and a subresource of that name.
//! Kinds that only some versions of Kubernetes have stand in the macro of their versions.

use k8s_openapi::{
    k8s_if_ge_1_34, k8s_if_ge_1_35, k8s_if_ge_1_36, k8s_if_ge_1_37, k8s_if_le_1_33, k8s_if_le_1_34,
    k8s_if_le_1_36,
};

use super::has_status::HasStatus;

/// Lines such as `api::apps::v1 { Deployment: DeploymentStatus }`.
macro_rules! has_status {
    ($($($module:ident)::+ { $($kind:ident: $status:ident),+ $(,)? })+) => {$(
        const _: () = {
            use k8s_openapi::$($module)::+::{$($kind, $status),+};
            $(
                impl HasStatus for $kind {
                    type Status = $status;
                    const BUILT_IN: bool = true;
                }
            )+
        };
    )+};
}

has_status! {
    api::admissionregistration::v1 { ValidatingAdmissionPolicy: ValidatingAdmissionPolicyStatus }
    api::apiserverinternal::v1alpha1 { StorageVersion: StorageVersionStatus }
    api::apps::v1 {
        DaemonSet: DaemonSetStatus,
        Deployment: DeploymentStatus,
        ReplicaSet: ReplicaSetStatus,
        StatefulSet: StatefulSetStatus,
    }
    api::autoscaling::v1 { HorizontalPodAutoscaler: HorizontalPodAutoscalerStatus }
    api::autoscaling::v2 { HorizontalPodAutoscaler: HorizontalPodAutoscalerStatus }
    api::batch::v1 { CronJob: CronJobStatus, Job: JobStatus }
    api::certificates::v1 { CertificateSigningRequest: CertificateSigningRequestStatus }
    api::core::v1 {
        Namespace: NamespaceStatus,
        Node: NodeStatus,
        PersistentVolume: PersistentVolumeStatus,
        PersistentVolumeClaim: PersistentVolumeClaimStatus,
        Pod: PodStatus,
        ReplicationController: ReplicationControllerStatus,
        ResourceQuota: ResourceQuotaStatus,
        Service: ServiceStatus,
    }
    api::flowcontrol::v1 {
        FlowSchema: FlowSchemaStatus,
        PriorityLevelConfiguration: PriorityLevelConfigurationStatus,
    }
    api::networking::v1 { Ingress: IngressStatus, ServiceCIDR: ServiceCIDRStatus }
    api::policy::v1 { PodDisruptionBudget: PodDisruptionBudgetStatus }
    api::resource::v1beta1 { ResourceClaim: ResourceClaimStatus }
    api::resource::v1beta2 { ResourceClaim: ResourceClaimStatus }
    api::storage::v1 { VolumeAttachment: VolumeAttachmentStatus }
    apiextensions_apiserver::pkg::apis::apiextensions::v1 {
        CustomResourceDefinition: CustomResourceDefinitionStatus,
    }
    kube_aggregator::pkg::apis::apiregistration::v1 { APIService: APIServiceStatus }
}

k8s_if_le_1_33! {
    has_status! {
        api::admissionregistration::v1beta1 {
            ValidatingAdmissionPolicy: ValidatingAdmissionPolicyStatus,
        }
        api::resource::v1alpha3 { ResourceClaim: ResourceClaimStatus }
    }
}

k8s_if_le_1_34! {
    has_status! {
        api::storagemigration::v1alpha1 { StorageVersionMigration: StorageVersionMigrationStatus }
    }
}

k8s_if_le_1_36! {
    has_status! {
        api::networking::v1beta1 { ServiceCIDR: ServiceCIDRStatus }
    }
}

k8s_if_ge_1_34! {
    k8s_if_le_1_34! {
        has_status! {
            api::certificates::v1alpha1 { PodCertificateRequest: PodCertificateRequestStatus }
        }
    }
}

k8s_if_ge_1_34! {
    has_status! {
        api::resource::v1 { ResourceClaim: ResourceClaimStatus }
    }
}

k8s_if_ge_1_35! {
    has_status! {
        api::certificates::v1beta1 { PodCertificateRequest: PodCertificateRequestStatus }
        api::resource::v1alpha3 { DeviceTaintRule: DeviceTaintRuleStatus }
        api::storagemigration::v1beta1 { StorageVersionMigration: StorageVersionMigrationStatus }
    }
}

k8s_if_ge_1_36! {
    k8s_if_le_1_36! {
        has_status! {
            api::scheduling::v1alpha2 { PodGroup: PodGroupStatus }
        }
    }
}

k8s_if_ge_1_36! {
    has_status! {
        api::resource::v1alpha3 { ResourcePoolStatusRequest: ResourcePoolStatusRequestStatus }
        api::resource::v1beta2 { DeviceTaintRule: DeviceTaintRuleStatus }
    }
}

k8s_if_ge_1_37! {
    has_status! {
        api::certificates::v1 { PodCertificateRequest: PodCertificateRequestStatus }
        api::lifecycle::v1alpha1 {
            Eviction: EvictionStatus,
            EvictionRequest: EvictionRequestStatus,
        }
        api::resource::v1 { DeviceTaintRule: DeviceTaintRuleStatus }
        api::scheduling::v1alpha3 {
            CompositePodGroup: CompositePodGroupStatus,
            PodGroup: PodGroupStatus,
        }
        api::scheduling::v1beta1 { PodGroup: PodGroupStatus }
        api::storage::v1 { CSINode: CSINodeStatus }
        api::storagemigration::v1 { StorageVersionMigration: StorageVersionMigrationStatus }
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_sandbox::internals::builtin;

    /// The lines of the table for the module of a group and version.
    fn lines(group: &str, version: &str) -> String {
        let module = match group {
            "apiextensions.k8s.io" => {
                "apiextensions_apiserver::pkg::apis::apiextensions".to_owned()
            }
            "apiregistration.k8s.io" => "kube_aggregator::pkg::apis::apiregistration".to_owned(),
            "" => "api::core".to_owned(),
            group => format!("api::{}", group.split('.').next().unwrap()),
        };
        let table = include_str!("built_in.rs").split("#[cfg(test)]").next();
        let table = table.unwrap_or_default();
        let start = format!(" {module}::{version} {{");
        let blocks = table.split(&start).skip(1);
        blocks.filter_map(|block| block.split('}').next()).collect()
    }

    #[test]
    fn the_table_has_each_built_in_kind_with_a_status() {
        let mut found = 0;
        for kind in builtin::kinds() {
            let lines = lines(&kind.group, &kind.version);
            let mut words = lines.split_whitespace();
            let is_known = words.any(|word| word == format!("{}:", kind.kind));
            assert_eq!(
                is_known, kind.status,
                "{}/{} {}",
                kind.group, kind.version, kind.kind
            );
            found += usize::from(is_known);
        }
        assert!(found >= 10, "{found} kinds have a status");
    }
}
