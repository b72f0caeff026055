//! The types with fields.
//!
//! A macro of k8s-openapi stands around the types that not every version of Kubernetes has.

use crate::crd::Schema;

macro_rules! every {
    ($versions:ident $($($module:ident)::+ {$($ty:ident),+ $(,)?})+) => {
        $(module! { {$($module)::+} $($ty)+ })+

        /// The types of these versions, for tests.
        #[cfg(test)]
        pub(super) fn $versions() -> Vec<Listed> {
            let mut all = Vec::new();
            $(all.extend(listed! { {$($module)::+} $($ty)+ });)+
            all
        }
    };
}

macro_rules! module {
    ($module:tt $($ty:ident)+) => { $(one! { $module $ty })+ };
}

macro_rules! one {
    ({$($module:tt)+} $ty:ident) => {
        impl Schema for k8s_openapi::$($module)+::$ty {
            type Json = super::inlined::Inlined<Self>;
        }

        impl super::inlined::Published for k8s_openapi::$($module)+::$ty {
            const PATH: &'static str = concat!($(stringify!($module),)+ "::", stringify!($ty));
        }
    };
}

#[cfg(test)]
macro_rules! listed {
    ($module:tt $($ty:ident)+) => { [$(entry! { $module $ty }),+] };
}

#[cfg(test)]
macro_rules! entry {
    ({$($module:tt)+} $ty:ident) => {
        Listed {
            path: <k8s_openapi::$($module)+::$ty as super::inlined::Published>::PATH,
            describe: <k8s_openapi::$($module)+::$ty as Schema>::describe,
            #[cfg(feature = "k8s-descriptions")]
            definitions: super::inlined::described_by_k8s_openapi::<k8s_openapi::$($module)+::$ty>,
        }
    };
}

/// A type, for tests.
#[cfg(test)]
pub(super) struct Listed {
    pub(super) path: &'static str,
    pub(super) describe: crate::crd::Describe,
    /// The schemas that k8s-openapi has of the type and the types in it.
    #[cfg(feature = "k8s-descriptions")]
    pub(super) definitions: fn() -> serde_json::Map<String, serde_json::Value>,
}

k8s_openapi::k8s_if_le_1_33! {
every! { in_1_33
    api::admissionregistration::v1beta1 {
        AuditAnnotation, ExpressionWarning, TypeChecking, ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
        ValidatingAdmissionPolicyStatus, Validation,
    }
    api::resource::v1alpha3 {
        AllocatedDeviceStatus, AllocationResult, BasicDevice, Counter, CounterSet, Device,
        DeviceAllocationConfiguration, DeviceAllocationResult, DeviceAttribute, DeviceClaim,
        DeviceClaimConfiguration, DeviceClass, DeviceClassConfiguration, DeviceClassSpec, DeviceConstraint,
        DeviceCounterConsumption, DeviceRequest, DeviceRequestAllocationResult, DeviceSubRequest, DeviceToleration,
        NetworkDeviceData, OpaqueDeviceConfiguration, ResourceClaim, ResourceClaimConsumerReference,
        ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate, ResourceClaimTemplateSpec, ResourcePool,
        ResourceSlice, ResourceSliceSpec,
    }
}
}

k8s_openapi::k8s_if_le_1_34! {
every! { from_1_33_to_1_34
    api::resource::v1alpha3 {
        CELDeviceSelector, DeviceSelector,
    }
    api::storage::v1alpha1 {
        VolumeAttributesClass,
    }
    api::storagemigration::v1alpha1 {
        GroupVersionResource, MigrationCondition, StorageVersionMigration, StorageVersionMigrationSpec,
        StorageVersionMigrationStatus,
    }
}
}

k8s_openapi::k8s_if_le_1_36! {
every! { from_1_33_to_1_36
    api::certificates::v1alpha1 {
        ClusterTrustBundle, ClusterTrustBundleSpec,
    }
    api::networking::v1beta1 {
        IPAddress, IPAddressSpec, ParentReference, ServiceCIDR, ServiceCIDRSpec, ServiceCIDRStatus,
    }
    api::storage::v1beta1 {
        VolumeAttributesClass,
    }
}
}

every! { since_1_33
    api::admissionregistration::v1 {
        AuditAnnotation, ExpressionWarning, MatchCondition, MatchResources, MutatingWebhook,
        MutatingWebhookConfiguration, NamedRuleWithOperations, ParamKind, ParamRef, RuleWithOperations,
        ServiceReference, TypeChecking, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
        ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec, ValidatingAdmissionPolicyStatus,
        ValidatingWebhook, ValidatingWebhookConfiguration, Validation, Variable, WebhookClientConfig,
    }
    api::admissionregistration::v1alpha1 {
        ApplyConfiguration, JSONPatch, MatchCondition, MatchResources, MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation,
        NamedRuleWithOperations, ParamKind, ParamRef, Variable,
    }
    api::admissionregistration::v1beta1 {
        MatchCondition, MatchResources, NamedRuleWithOperations, ParamKind, ParamRef, Variable,
    }
    api::apiserverinternal::v1alpha1 {
        ServerStorageVersion, StorageVersion, StorageVersionCondition, StorageVersionSpec, StorageVersionStatus,
    }
    api::apps::v1 {
        ControllerRevision, DaemonSet, DaemonSetCondition, DaemonSetSpec, DaemonSetStatus, DaemonSetUpdateStrategy,
        Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus, DeploymentStrategy, ReplicaSet,
        ReplicaSetCondition, ReplicaSetSpec, ReplicaSetStatus, RollingUpdateDaemonSet, RollingUpdateDeployment,
        RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetCondition, StatefulSetOrdinals,
        StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec, StatefulSetStatus,
        StatefulSetUpdateStrategy,
    }
    api::authentication::v1 {
        BoundObjectReference, SelfSubjectReview, SelfSubjectReviewStatus, TokenRequest, TokenRequestSpec,
        TokenRequestStatus, TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo,
    }
    api::authorization::v1 {
        FieldSelectorAttributes, LabelSelectorAttributes, LocalSubjectAccessReview, NonResourceAttributes,
        NonResourceRule, ResourceAttributes, ResourceRule, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
        SelfSubjectRulesReview, SelfSubjectRulesReviewSpec, SubjectAccessReview, SubjectAccessReviewSpec,
        SubjectAccessReviewStatus, SubjectRulesReviewStatus,
    }
    api::autoscaling::v1 {
        CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
        HorizontalPodAutoscalerStatus, Scale, ScaleSpec, ScaleStatus,
    }
    api::autoscaling::v2 {
        ContainerResourceMetricSource, ContainerResourceMetricStatus, CrossVersionObjectReference,
        ExternalMetricSource, ExternalMetricStatus, HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler,
        HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerSpec,
        HorizontalPodAutoscalerStatus, MetricIdentifier, MetricSpec, MetricStatus, MetricTarget, MetricValueStatus,
        ObjectMetricSource, ObjectMetricStatus, PodsMetricSource, PodsMetricStatus, ResourceMetricSource,
        ResourceMetricStatus,
    }
    api::batch::v1 {
        CronJob, CronJobSpec, CronJobStatus, Job, JobCondition, JobSpec, JobStatus, JobTemplateSpec,
        PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
        PodFailurePolicyRule, SuccessPolicy, SuccessPolicyRule, UncountedTerminatedPods,
    }
    api::certificates::v1 {
        CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
        CertificateSigningRequestStatus,
    }
    api::certificates::v1beta1 {
        ClusterTrustBundle, ClusterTrustBundleSpec,
    }
    api::coordination::v1 {
        Lease, LeaseSpec,
    }
    api::coordination::v1alpha2 {
        LeaseCandidate, LeaseCandidateSpec,
    }
    api::coordination::v1beta1 {
        LeaseCandidate, LeaseCandidateSpec,
    }
    api::core::v1 {
        AWSElasticBlockStoreVolumeSource, Affinity, AppArmorProfile, AttachedVolume, AzureDiskVolumeSource,
        AzureFilePersistentVolumeSource, AzureFileVolumeSource, Binding, CSIPersistentVolumeSource, CSIVolumeSource,
        Capabilities, CephFSPersistentVolumeSource, CephFSVolumeSource, CinderPersistentVolumeSource,
        CinderVolumeSource, ClientIPConfig, ClusterTrustBundleProjection, ComponentCondition, ComponentStatus,
        ConfigMap, ConfigMapEnvSource, ConfigMapNodeConfigSource, ConfigMapProjection, ConfigMapVolumeSource,
        Container, ContainerImage, ContainerPort, ContainerResizePolicy, ContainerState, ContainerStateRunning,
        ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, ContainerUser, DaemonEndpoint,
        DownwardAPIProjection, DownwardAPIVolumeFile, DownwardAPIVolumeSource, EmptyDirVolumeSource, EndpointAddress,
        EndpointPort, EndpointSubset, Endpoints, EnvFromSource, EnvVar, EnvVarSource, EphemeralContainer,
        EphemeralVolumeSource, Event, EventSeries, EventSource, ExecAction, FCVolumeSource,
        FlexPersistentVolumeSource, FlexVolumeSource, FlockerVolumeSource, GCEPersistentDiskVolumeSource, GRPCAction,
        GitRepoVolumeSource, GlusterfsPersistentVolumeSource, GlusterfsVolumeSource, HTTPGetAction, HTTPHeader,
        HostAlias, HostIP, HostPathVolumeSource, ISCSIPersistentVolumeSource, ISCSIVolumeSource, ImageVolumeSource,
        KeyToPath, Lifecycle, LifecycleHandler, LimitRange, LimitRangeItem, LimitRangeSpec, LinuxContainerUser,
        LoadBalancerIngress, LoadBalancerStatus, LocalVolumeSource, ModifyVolumeStatus, NFSVolumeSource, Namespace,
        NamespaceCondition, NamespaceSpec, NamespaceStatus, Node, NodeAddress, NodeAffinity, NodeCondition,
        NodeConfigSource, NodeConfigStatus, NodeDaemonEndpoints, NodeFeatures, NodeRuntimeHandler,
        NodeRuntimeHandlerFeatures, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, NodeSpec, NodeStatus,
        NodeSwapStatus, NodeSystemInfo, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition,
        PersistentVolumeClaimSpec, PersistentVolumeClaimStatus, PersistentVolumeClaimTemplate,
        PersistentVolumeClaimVolumeSource, PersistentVolumeSpec, PersistentVolumeStatus,
        PhotonPersistentDiskVolumeSource, Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity, PodCondition,
        PodDNSConfig, PodDNSConfigOption, PodIP, PodOS, PodReadinessGate, PodResourceClaim, PodResourceClaimStatus,
        PodSchedulingGate, PodSecurityContext, PodSpec, PodStatus, PodTemplate, PodTemplateSpec, PortStatus,
        PortworxVolumeSource, PreferredSchedulingTerm, Probe, ProjectedVolumeSource, QuobyteVolumeSource,
        RBDPersistentVolumeSource, RBDVolumeSource, ReplicationController, ReplicationControllerCondition,
        ReplicationControllerSpec, ReplicationControllerStatus, ResourceClaim, ResourceHealth, ResourceQuota,
        ResourceQuotaSpec, ResourceQuotaStatus, ResourceStatus, SELinuxOptions, ScaleIOPersistentVolumeSource,
        ScaleIOVolumeSource, ScopeSelector, ScopedResourceSelectorRequirement, SeccompProfile, Secret,
        SecretEnvSource, SecretProjection, SecretVolumeSource, SecurityContext, Service,
        ServiceAccount, ServiceAccountTokenProjection, ServicePort, ServiceSpec, ServiceStatus,
        SessionAffinityConfig, SleepAction, StorageOSPersistentVolumeSource, StorageOSVolumeSource, Sysctl,
        TCPSocketAction, Taint, TopologySelectorLabelRequirement, TopologySelectorTerm, TopologySpreadConstraint,
        TypedObjectReference, Volume, VolumeDevice, VolumeMount, VolumeMountStatus, VolumeNodeAffinity,
        VolumeProjection, VolumeResourceRequirements, VsphereVirtualDiskVolumeSource, WeightedPodAffinityTerm,
        WindowsSecurityContextOptions,
    }
    api::discovery::v1 {
        Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice, ForNode, ForZone,
    }
    api::events::v1 {
        Event, EventSeries,
    }
    api::flowcontrol::v1 {
        ExemptPriorityLevelConfiguration, FlowDistinguisherMethod, FlowSchema, FlowSchemaCondition, FlowSchemaSpec,
        FlowSchemaStatus, GroupSubject, LimitResponse, LimitedPriorityLevelConfiguration, NonResourcePolicyRule,
        PolicyRulesWithSubjects, PriorityLevelConfiguration, PriorityLevelConfigurationCondition,
        PriorityLevelConfigurationReference, PriorityLevelConfigurationSpec, PriorityLevelConfigurationStatus,
        QueuingConfiguration, ResourcePolicyRule, ServiceAccountSubject, Subject, UserSubject,
    }
    api::networking::v1 {
        HTTPIngressPath, HTTPIngressRuleValue, IPAddress, IPAddressSpec, IPBlock, Ingress, IngressBackend,
        IngressClass, IngressClassParametersReference, IngressClassSpec, IngressLoadBalancerIngress,
        IngressLoadBalancerStatus, IngressPortStatus, IngressRule, IngressServiceBackend, IngressSpec, IngressStatus,
        IngressTLS, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
        NetworkPolicyPort, NetworkPolicySpec, ParentReference, ServiceBackendPort, ServiceCIDR, ServiceCIDRSpec,
        ServiceCIDRStatus,
    }
    api::node::v1 {
        Overhead, RuntimeClass, Scheduling,
    }
    api::policy::v1 {
        Eviction, PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus,
    }
    api::rbac::v1 {
        AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
    }
    api::resource::v1alpha3 {
        DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector,
    }
    api::resource::v1beta1 {
        AllocatedDeviceStatus, AllocationResult, BasicDevice, CELDeviceSelector, Counter, CounterSet, Device,
        DeviceAllocationConfiguration, DeviceAllocationResult, DeviceAttribute, DeviceCapacity, DeviceClaim,
        DeviceClaimConfiguration, DeviceClass, DeviceClassConfiguration, DeviceClassSpec, DeviceConstraint,
        DeviceCounterConsumption, DeviceRequest, DeviceRequestAllocationResult, DeviceSelector, DeviceSubRequest,
        DeviceTaint, DeviceToleration, NetworkDeviceData, OpaqueDeviceConfiguration, ResourceClaim,
        ResourceClaimConsumerReference, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate,
        ResourceClaimTemplateSpec, ResourcePool, ResourceSlice, ResourceSliceSpec,
    }
    api::resource::v1beta2 {
        AllocatedDeviceStatus, AllocationResult, CELDeviceSelector, Counter, CounterSet, Device,
        DeviceAllocationConfiguration, DeviceAllocationResult, DeviceAttribute, DeviceCapacity, DeviceClaim,
        DeviceClaimConfiguration, DeviceClass, DeviceClassConfiguration, DeviceClassSpec, DeviceConstraint,
        DeviceCounterConsumption, DeviceRequest, DeviceRequestAllocationResult, DeviceSelector, DeviceSubRequest,
        DeviceTaint, DeviceToleration, ExactDeviceRequest, NetworkDeviceData, OpaqueDeviceConfiguration,
        ResourceClaim, ResourceClaimConsumerReference, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate,
        ResourceClaimTemplateSpec, ResourcePool, ResourceSlice, ResourceSliceSpec,
    }
    api::scheduling::v1 {
        PriorityClass,
    }
    api::storage::v1 {
        CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity, StorageClass,
        TokenRequest, VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec, VolumeAttachmentStatus,
        VolumeError, VolumeNodeResources,
    }
    apiextensions_apiserver::pkg::apis::apiextensions::v1 {
        CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition,
        CustomResourceDefinitionCondition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
        CustomResourceDefinitionStatus, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
        CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation, ExternalDocumentation,
        SelectableField, ServiceReference, ValidationRule, WebhookClientConfig, WebhookConversion,
    }
    apimachinery::pkg::apis::meta::v1 {
        APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions, DeleteOptions, FieldSelectorRequirement,
        GroupVersionForDiscovery, ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference, Preconditions,
        ServerAddressByClientCIDR, Status, StatusCause, StatusDetails,
    }
    apimachinery::pkg::version {
        Info,
    }
    kube_aggregator::pkg::apis::apiregistration::v1 {
        APIService, APIServiceCondition, APIServiceSpec, APIServiceStatus, ServiceReference,
    }
}

k8s_openapi::k8s_if_le_1_34! {
k8s_openapi::k8s_if_ge_1_34! {
every! { in_1_34
    api::certificates::v1alpha1 {
        PodCertificateRequest, PodCertificateRequestSpec, PodCertificateRequestStatus,
    }
}
}
}

k8s_openapi::k8s_if_ge_1_34! {
every! { since_1_34
    api::admissionregistration::v1beta1 {
        ApplyConfiguration, JSONPatch, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
        MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation,
    }
    api::core::v1 {
        ContainerExtendedResourceRequest, ContainerRestartRule, ContainerRestartRuleOnExitCodes, FileKeySelector,
        PodCertificateProjection, PodExtendedResourceClaimStatus,
    }
    api::resource::v1 {
        AllocatedDeviceStatus, AllocationResult, CELDeviceSelector, CapacityRequestPolicy,
        CapacityRequestPolicyRange, CapacityRequirements, Counter, CounterSet, Device, DeviceAllocationConfiguration,
        DeviceAllocationResult, DeviceAttribute, DeviceCapacity, DeviceClaim, DeviceClaimConfiguration, DeviceClass,
        DeviceClassConfiguration, DeviceClassSpec, DeviceConstraint, DeviceCounterConsumption, DeviceRequest,
        DeviceRequestAllocationResult, DeviceSelector, DeviceSubRequest, DeviceTaint, DeviceToleration,
        ExactDeviceRequest, NetworkDeviceData, OpaqueDeviceConfiguration, ResourceClaim,
        ResourceClaimConsumerReference, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate,
        ResourceClaimTemplateSpec, ResourcePool, ResourceSlice, ResourceSliceSpec,
    }
    api::resource::v1beta1 {
        CapacityRequestPolicy, CapacityRequestPolicyRange, CapacityRequirements,
    }
    api::resource::v1beta2 {
        CapacityRequestPolicy, CapacityRequestPolicyRange, CapacityRequirements,
    }
    api::storage::v1 {
        VolumeAttributesClass,
    }
}
}

k8s_openapi::k8s_if_le_1_35! {
k8s_openapi::k8s_if_ge_1_35! {
every! { in_1_35
    api::core::v1 {
        WorkloadReference,
    }
    api::scheduling::v1alpha1 {
        BasicSchedulingPolicy, GangSchedulingPolicy, PodGroup, PodGroupPolicy, TypedLocalObjectReference, Workload,
        WorkloadSpec,
    }
}
}
}

k8s_openapi::k8s_if_ge_1_35! {
every! { since_1_35
    api::certificates::v1beta1 {
        PodCertificateRequest, PodCertificateRequestSpec, PodCertificateRequestStatus,
    }
    api::resource::v1alpha3 {
        DeviceTaintRuleStatus,
    }
    api::storagemigration::v1beta1 {
        StorageVersionMigration, StorageVersionMigrationSpec, StorageVersionMigrationStatus,
    }
    apimachinery::pkg::apis::meta::v1 {
        GroupResource,
    }
}
}

k8s_openapi::k8s_if_le_1_36! {
k8s_openapi::k8s_if_ge_1_36! {
every! { in_1_36
    api::resource::v1 {
        NodeAllocatableResourceMapping,
    }
    api::resource::v1beta1 {
        NodeAllocatableResourceMapping,
    }
    api::resource::v1beta2 {
        NodeAllocatableResourceMapping,
    }
    api::scheduling::v1alpha2 {
        BasicSchedulingPolicy, GangSchedulingPolicy, PodGroup, PodGroupResourceClaim, PodGroupResourceClaimStatus,
        PodGroupSchedulingConstraints, PodGroupSchedulingPolicy, PodGroupSpec, PodGroupStatus, PodGroupTemplate,
        PodGroupTemplateReference, TopologyConstraint, TypedLocalObjectReference, Workload,
        WorkloadPodGroupTemplateReference, WorkloadSpec,
    }
}
}
}

k8s_openapi::k8s_if_ge_1_36! {
every! { since_1_36
    api::admissionregistration::v1 {
        ApplyConfiguration, JSONPatch, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
        MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation,
    }
    api::core::v1 {
        ImageVolumeStatus, NodeAllocatableResourceClaimStatus, PodSchedulingGroup, VolumeStatus,
    }
    api::resource::v1alpha3 {
        PoolStatus, ResourcePoolStatusRequest, ResourcePoolStatusRequestSpec, ResourcePoolStatusRequestStatus,
    }
    api::resource::v1beta2 {
        DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintRuleStatus, DeviceTaintSelector,
    }
    apimachinery::pkg::apis::meta::v1 {
        ShardInfo,
    }
}
}

k8s_openapi::k8s_if_ge_1_37! {
every! { since_1_37
    api::batch::v1 {
        JobSchedulingConfiguration,
    }
    api::certificates::v1 {
        ClusterTrustBundle, ClusterTrustBundleSpec, PodCertificateRequest, PodCertificateRequestSpec,
        PodCertificateRequestStatus,
    }
    api::core::v1 {
        EvictionResponder, NodeAllocatableMappedResources, NodeAllocatableOverheadResources, NodePodPreemptionPolicy,
        PodVolumeHealth, VolumeHealthCondition, VolumeHealthStatus,
    }
    api::lifecycle::v1alpha1 {
        Eviction, EvictionPodReference, EvictionRequest, EvictionRequestPodReference, EvictionRequestSpec,
        EvictionRequestStatus, EvictionRequestTarget, EvictionSpec, EvictionStatus, EvictionTarget, Requester,
        ResponderStatus, TargetResponder,
    }
    api::resource::v1 {
        DeviceDerivedAttribute, DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintRuleStatus, DeviceTaintSelector,
        NodeAllocatableMapping, NodeAllocatableOverhead, NodeAllocatableResource,
    }
    api::resource::v1alpha3 {
        PartitionTypeStatus, ShareableCapacityStatus, ShareableSummaryStatus,
    }
    api::resource::v1beta1 {
        DeviceDerivedAttribute, NodeAllocatableMapping, NodeAllocatableOverhead, NodeAllocatableResource,
    }
    api::resource::v1beta2 {
        DeviceDerivedAttribute, NodeAllocatableMapping, NodeAllocatableOverhead, NodeAllocatableResource,
    }
    api::scheduling::v1alpha3 {
        AllCompositeDisruptionMode, AllDisruptionMode, BasicSchedulingPolicy, CompositeBasicSchedulingPolicy,
        CompositeDisruptionMode, CompositeGangSchedulingPolicy, CompositePodGroup,
        CompositePodGroupSchedulingConstraints, CompositePodGroupSchedulingPolicy, CompositePodGroupSpec,
        CompositePodGroupStatus, CompositePodGroupTemplate, DisruptionMode, GangSchedulingPolicy, PodGroup,
        PodGroupResourceClaim, PodGroupResourceClaimStatus, PodGroupSchedulingConstraints, PodGroupSchedulingPolicy,
        PodGroupSpec, PodGroupStatus, PodGroupTemplate, SingleCompositeDisruptionMode, SingleDisruptionMode,
        TopologyConstraint, TypedLocalObjectReference, Workload, WorkloadPodGroupAllDisruptionMode,
        WorkloadPodGroupBasicSchedulingPolicy, WorkloadPodGroupDisruptionMode, WorkloadPodGroupGangSchedulingPolicy,
        WorkloadPodGroupResourceClaim, WorkloadPodGroupSchedulingConstraints, WorkloadPodGroupSchedulingPolicy,
        WorkloadPodGroupSingleDisruptionMode, WorkloadReference, WorkloadSpec,
    }
    api::scheduling::v1beta1 {
        AllCompositeDisruptionMode, AllDisruptionMode, BasicSchedulingPolicy, CompositeBasicSchedulingPolicy,
        CompositeDisruptionMode, CompositeGangSchedulingPolicy, CompositePodGroupSchedulingConstraints,
        CompositePodGroupSchedulingPolicy, CompositePodGroupTemplate, DisruptionMode, GangSchedulingPolicy, PodGroup,
        PodGroupResourceClaim, PodGroupResourceClaimStatus, PodGroupSchedulingConstraints, PodGroupSchedulingPolicy,
        PodGroupSpec, PodGroupStatus, PodGroupTemplate, SingleCompositeDisruptionMode, SingleDisruptionMode,
        TopologyConstraint, TypedLocalObjectReference, Workload, WorkloadReference, WorkloadSpec,
    }
    api::storage::v1 {
        CSINodeStatus, StorageHealth, StorageHealthCondition,
    }
    api::storagemigration::v1 {
        StorageVersionMigration, StorageVersionMigrationSpec, StorageVersionMigrationStatus,
    }
}
}
