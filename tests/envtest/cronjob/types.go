// Package cronjob is an operator for a CronJob of its own group, on controller-runtime. Its suite runs with envtest.
package cronjob

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and the version of the kind.
var GroupVersion = schema.GroupVersion{Group: "batch.pilothouse.dev", Version: "v1"}

// AddToScheme adds the kind to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CronJob{}, &CronJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// ConcurrencyPolicy says what happens when a Job is due and an earlier one still runs.
type ConcurrencyPolicy string

const (
	// AllowConcurrent starts the Job.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ForbidConcurrent leaves the run out.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent deletes the Jobs that run, and starts the Job.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// CronJob creates Jobs on a schedule.
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CronJobSpec   `json:"spec,omitempty"`
	Status CronJobStatus `json:"status,omitempty"`
}

// CronJobSpec is what the user wants. The schema of the definition sets the defaults.
type CronJobSpec struct {
	Schedule                   string                  `json:"schedule"`
	StartingDeadlineSeconds    *int64                  `json:"startingDeadlineSeconds,omitempty"`
	ConcurrencyPolicy          ConcurrencyPolicy       `json:"concurrencyPolicy,omitempty"`
	Suspend                    bool                    `json:"suspend,omitempty"`
	JobTemplate                batchv1.JobTemplateSpec `json:"jobTemplate"`
	SuccessfulJobsHistoryLimit *int32                  `json:"successfulJobsHistoryLimit,omitempty"`
	FailedJobsHistoryLimit     *int32                  `json:"failedJobsHistoryLimit,omitempty"`
}

// CronJobStatus is what the operator has seen.
type CronJobStatus struct {
	Active           []corev1.ObjectReference `json:"active,omitempty"`
	LastScheduleTime *metav1.Time             `json:"lastScheduleTime,omitempty"`
}

// CronJobList is a list of CronJobs.
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CronJob `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (c *CronJob) DeepCopyObject() runtime.Object {
	copied := *c
	c.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Spec.StartingDeadlineSeconds = pointer(c.Spec.StartingDeadlineSeconds)
	c.Spec.JobTemplate.DeepCopyInto(&copied.Spec.JobTemplate)
	copied.Spec.SuccessfulJobsHistoryLimit = pointer(c.Spec.SuccessfulJobsHistoryLimit)
	copied.Spec.FailedJobsHistoryLimit = pointer(c.Spec.FailedJobsHistoryLimit)
	copied.Status.Active = append([]corev1.ObjectReference(nil), c.Status.Active...)
	copied.Status.LastScheduleTime = c.Status.LastScheduleTime.DeepCopy()
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (l *CronJobList) DeepCopyObject() runtime.Object {
	copied := CronJobList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*CronJob))
	}
	return &copied
}

func pointer[T any](value *T) *T {
	if value == nil {
		return nil
	}
	copied := *value
	return &copied
}
