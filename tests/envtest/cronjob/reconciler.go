package cronjob

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// scheduledAt is the annotation of a Job with the time for which it was scheduled.
	scheduledAt = "batch.pilothouse.dev/scheduled-at"
	// ownerIndex finds the Jobs of a CronJob in the cache.
	ownerIndex = ".metadata.controller"
	// maxMissed is the number of missed runs after which the operator gives up to find the last one.
	maxMissed = 100
)

// Reconciler creates the Jobs of CronJobs, and deletes old ones.
type Reconciler struct {
	client.Client
	// Now is the clock of the schedules.
	Now func() time.Time
}

// SetupWithManager adds the reconciler to a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, manager ctrl.Manager) error {
	owner := func(object client.Object) []string {
		owner := metav1.GetControllerOf(object)
		if owner == nil || owner.APIVersion != GroupVersion.String() || owner.Kind != "CronJob" {
			return nil
		}
		return []string{owner.Name}
	}
	if err := manager.GetFieldIndexer().IndexField(ctx, &batchv1.Job{}, ownerIndex, owner); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).For(&CronJob{}).Owns(&batchv1.Job{}).Complete(r)
}

// Reconcile brings the Jobs of one CronJob up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var cronJob CronJob
	if err := r.Get(ctx, request.NamespacedName, &cronJob); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(request.Namespace), client.MatchingFields{ownerIndex: request.Name}); err != nil {
		return reconcile.Result{}, err
	}
	active, successful, failed := sorted(jobs.Items)
	if err := r.updateStatus(ctx, &cronJob, active, jobs.Items); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.prune(ctx, successful, cronJob.Spec.SuccessfulJobsHistoryLimit); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.prune(ctx, failed, cronJob.Spec.FailedJobsHistoryLimit); err != nil {
		return reconcile.Result{}, err
	}
	if cronJob.Spec.Suspend {
		return reconcile.Result{}, nil
	}
	now := r.Now()
	due, next, err := runs(&cronJob, now)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	again := reconcile.Result{RequeueAfter: next.Sub(now)}
	if due.IsZero() {
		return again, nil
	}
	switch cronJob.Spec.ConcurrencyPolicy {
	case ForbidConcurrent:
		if len(active) > 0 {
			return again, nil
		}
	case ReplaceConcurrent:
		for _, job := range active {
			if err := r.delete(ctx, job); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	job, err := r.job(&cronJob, due)
	if err != nil {
		return reconcile.Result{}, err
	}
	// The name is that of the run, so a run whose Job the cache does not show yet starts nothing.
	if err := r.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, err
	}
	return again, nil
}

func (r *Reconciler) updateStatus(ctx context.Context, cronJob *CronJob, active []*batchv1.Job, all []batchv1.Job) error {
	status := CronJobStatus{LastScheduleTime: cronJob.Status.LastScheduleTime}
	for _, job := range active {
		kind, err := apiutil.GVKForObject(job, r.Scheme())
		if err != nil {
			return err
		}
		status.Active = append(status.Active, corev1.ObjectReference{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		})
	}
	for i := range all {
		at, err := time.Parse(time.RFC3339, all[i].Annotations[scheduledAt])
		if err == nil && (status.LastScheduleTime == nil || at.After(status.LastScheduleTime.Time)) {
			status.LastScheduleTime = &metav1.Time{Time: at}
		}
	}
	if equality.Semantic.DeepEqual(status, cronJob.Status) {
		return nil
	}
	cronJob.Status = status
	return r.Status().Update(ctx, cronJob)
}

// prune deletes the oldest Jobs beyond the limit.
func (r *Reconciler) prune(ctx context.Context, jobs []*batchv1.Job, limit *int32) error {
	if limit == nil {
		return nil
	}
	for i := 0; i < len(jobs)-int(*limit); i++ {
		if err := r.delete(ctx, jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) delete(ctx context.Context, job *batchv1.Job) error {
	return client.IgnoreNotFound(r.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

func (r *Reconciler) job(cronJob *CronJob, due time.Time) (*batchv1.Job, error) {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	job.Namespace, job.Name = cronJob.Namespace, fmt.Sprintf("%s-%d", cronJob.Name, due.Unix())
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, scheduledAt, due.UTC().Format(time.RFC3339))
	return job, ctrl.SetControllerReference(cronJob, job, r.Scheme())
}

// runs returns the last run that is due, if there is one, and the next one.
func runs(cronJob *CronJob, now time.Time) (due, next time.Time, err error) {
	schedule, err := cron.ParseStandard(cronJob.Spec.Schedule)
	if err != nil {
		return due, next, fmt.Errorf("the schedule %q: %w", cronJob.Spec.Schedule, err)
	}
	earliest := cronJob.CreationTimestamp.Time
	if last := cronJob.Status.LastScheduleTime; last != nil {
		earliest = last.Time
	}
	if deadline := cronJob.Spec.StartingDeadlineSeconds; deadline != nil {
		if from := now.Add(-time.Duration(*deadline) * time.Second); from.After(earliest) {
			earliest = from
		}
	}
	missed := 0
	for at := schedule.Next(earliest); !at.After(now); at = schedule.Next(at) {
		due = at
		if missed++; missed > maxMissed {
			return time.Time{}, next, fmt.Errorf("more than %d runs were missed: set startingDeadlineSeconds", maxMissed)
		}
	}
	return due, schedule.Next(now), nil
}

// sorted returns the Jobs that run, succeeded and failed, each oldest first.
func sorted(jobs []batchv1.Job) (active, successful, failed []*batchv1.Job) {
	for i := range jobs {
		switch job := &jobs[i]; finished(job) {
		case batchv1.JobComplete:
			successful = append(successful, job)
		case batchv1.JobFailed:
			failed = append(failed, job)
		default:
			active = append(active, job)
		}
	}
	for _, jobs := range [][]*batchv1.Job{active, successful, failed} {
		slices.SortFunc(jobs, func(a, b *batchv1.Job) int {
			return cmp.Or(cmp.Compare(a.Annotations[scheduledAt], b.Annotations[scheduledAt]), cmp.Compare(a.Name, b.Name))
		})
	}
	return active, successful, failed
}

// finished returns the condition that ended a Job, or nothing.
func finished(job *batchv1.Job) batchv1.JobConditionType {
	for _, condition := range job.Status.Conditions {
		ends := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
		if ends && condition.Status == corev1.ConditionTrue {
			return condition.Type
		}
	}
	return ""
}
