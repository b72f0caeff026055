package cronjob

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// patience is how long a test waits for the operator.
const patience = 20 * time.Second

var (
	// api reads and writes without a cache.
	api client.Client
	// ahead is how far the operator's clock is ahead, in nanoseconds.
	ahead atomic.Int64
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := AddToScheme(scheme.Scheme); err != nil {
		return 1, err
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"crd.yaml"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopped := environment.Stop(); err == nil {
			err = stopped
		}
	}()
	if api, err = client.New(config, client.Options{}); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return 1, err
	}
	reconciler := &Reconciler{
		Client: manager.GetClient(),
		Now:    func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	}
	if err := reconciler.SetupWithManager(ctx, manager); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	code = m.Run()
	cancel()
	return code, <-ended
}

func TestTheDefinitionSetsDefaultsAndRefusesWrongValues(t *testing.T) {
	created := create(t, "defaults", func(cronJob *CronJob) { cronJob.Spec.Suspend = true })
	spec := created.Spec
	if spec.ConcurrencyPolicy != AllowConcurrent || *spec.SuccessfulJobsHistoryLimit != 3 || *spec.FailedJobsHistoryLimit != 1 {
		t.Errorf("the defaults: %+v", spec)
	}
	for name, change := range map[string]func(*CronJob){
		"a wrong policy":   func(cronJob *CronJob) { cronJob.Spec.ConcurrencyPolicy = "Perhaps" },
		"no schedule":      func(cronJob *CronJob) { cronJob.Spec.Schedule = "" },
		"a negative limit": func(cronJob *CronJob) { *cronJob.Spec.FailedJobsHistoryLimit = -1 },
	} {
		wrong := created.DeepCopyObject().(*CronJob)
		change(wrong)
		if err := api.Update(t.Context(), wrong); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADueRunCreatesAJobAndTheStatusShowsIt(t *testing.T) {
	cronJob := create(t, "due", nil)
	hourPasses(t, cronJob)
	job := eventually(t, "a Job", func() *batchv1.Job { return only(jobs(t, cronJob)) })
	if owner := metav1.GetControllerOf(job); owner == nil || owner.UID != cronJob.UID {
		t.Errorf("the owner: %+v", owner)
	}
	if job.Labels["made"] != "from-template" || job.Spec.Template.Spec.Containers[0].Image != "busybox" {
		t.Errorf("the template was not used: %+v", job)
	}
	eventually(t, "the Job in the status", func() *CronJob {
		found := read(t, cronJob)
		if len(found.Status.Active) == 1 && found.Status.Active[0].UID == job.UID && found.Status.LastScheduleTime != nil {
			return found
		}
		return nil
	})
	finish(t, job, batchv1.JobComplete)
	eventually(t, "a status without the Job", func() *CronJob {
		if found := read(t, cronJob); len(found.Status.Active) == 0 {
			return found
		}
		return nil
	})
}

func TestForbidLeavesARunOutAndReplaceDeletesTheJobThatRuns(t *testing.T) {
	forbids := create(t, "forbids", func(cronJob *CronJob) { cronJob.Spec.ConcurrencyPolicy = ForbidConcurrent })
	replaces := create(t, "replaces", func(cronJob *CronJob) { cronJob.Spec.ConcurrencyPolicy = ReplaceConcurrent })
	hourPasses(t, forbids, replaces)
	kept := eventually(t, "a Job", func() *batchv1.Job { return only(jobs(t, forbids)) })
	replaced := eventually(t, "a Job", func() *batchv1.Job { return only(jobs(t, replaces)) })
	eventually(t, "the Job in the status", func() *CronJob {
		if found := read(t, forbids); len(found.Status.Active) == 1 {
			return found
		}
		return nil
	})
	hourPasses(t, forbids, replaces)
	eventually(t, "another Job", func() *batchv1.Job {
		if job := only(jobs(t, replaces)); job != nil && job.UID != replaced.UID {
			return job
		}
		return nil
	})
	if job := only(jobs(t, forbids)); job == nil || job.UID != kept.UID {
		t.Errorf("the Job that still runs is not the only one: %+v", job)
	}
}

func TestOldJobsBeyondTheLimitsAreDeleted(t *testing.T) {
	two := int32(2)
	cronJob := create(t, "history", func(cronJob *CronJob) { cronJob.Spec.SuccessfulJobsHistoryLimit = &two })
	var names []string
	for _, end := range []batchv1.JobConditionType{
		batchv1.JobFailed, batchv1.JobComplete, batchv1.JobComplete, batchv1.JobComplete, batchv1.JobFailed,
	} {
		hourPasses(t, cronJob)
		job := eventually(t, "a Job that runs", func() *batchv1.Job {
			for _, job := range jobs(t, cronJob) {
				if finished(&job) == "" {
					return &job
				}
			}
			return nil
		})
		names = append(names, job.Name)
		finish(t, job, end)
	}
	expected := names[2:]
	eventually(t, "only the newest Jobs", func() *[]string {
		var found []string
		for _, job := range jobs(t, cronJob) {
			found = append(found, job.Name)
		}
		slices.Sort(found)
		if slices.Equal(found, expected) {
			return &found
		}
		return nil
	})
}

// create creates a CronJob that runs each hour, and returns it as the server has it.
func create(t *testing.T, name string, change func(*CronJob)) *CronJob {
	t.Helper()
	cronJob := &CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	// The clock begins anew, half an hour from the next run: nothing is due before the test moves it.
	ahead.Store(0)
	cronJob.Spec.Schedule = fmt.Sprintf("%d * * * *", time.Now().Add(30*time.Minute).Minute())
	cronJob.Spec.JobTemplate.Labels = map[string]string{"made": "from-template"}
	cronJob.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "busybox"}},
	}
	if change != nil {
		change(cronJob)
	}
	if err := api.Create(t.Context(), cronJob); err != nil {
		t.Fatal(err)
	}
	// A CronJob that stays would run when the time of other tests passes.
	t.Cleanup(func() {
		if err := api.Delete(context.Background(), cronJob); err != nil {
			t.Error(err)
		}
	})
	return cronJob
}

// hourPasses moves the operator's clock, and wakes the operator for these CronJobs.
func hourPasses(t *testing.T, cronJobs ...*CronJob) {
	t.Helper()
	moved := ahead.Add(int64(time.Hour))
	for _, cronJob := range cronJobs {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"moved":"%d"}}}`, moved)
		target := &CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: cronJob.Name}}
		if err := api.Patch(t.Context(), target, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
}

// finish does what the Job's controller does at the end: envtest has no such controller.
func finish(t *testing.T, job *batchv1.Job, end batchv1.JobConditionType) {
	t.Helper()
	now := metav1.Now()
	before := batchv1.JobSuccessCriteriaMet
	job.Status.StartTime = &now
	if end == batchv1.JobFailed {
		before = batchv1.JobFailureTarget
	} else {
		job.Status.CompletionTime = &now
	}
	for _, kind := range []batchv1.JobConditionType{before, end} {
		condition := batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
		job.Status.Conditions = append(job.Status.Conditions, condition)
	}
	if err := api.Status().Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, cronJob *CronJob) *CronJob {
	t.Helper()
	found := &CronJob{}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(cronJob), found); err != nil {
		t.Fatal(err)
	}
	return found
}

func jobs(t *testing.T, cronJob *CronJob) []batchv1.Job {
	t.Helper()
	var all batchv1.JobList
	if err := api.List(t.Context(), &all, client.InNamespace(cronJob.Namespace)); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Items, func(job batchv1.Job) bool { return !metav1.IsControlledBy(&job, cronJob) })
}

// only returns the Job if there is exactly one.
func only(jobs []batchv1.Job) *batchv1.Job {
	if len(jobs) != 1 {
		return nil
	}
	return &jobs[0]
}

// eventually returns what find returns, as soon as it finds something.
func eventually[T any](t *testing.T, what string, find func() *T) *T {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := find(); found != nil {
			return found
		}
	}
	t.Fatalf("%s did not appear in %s", what, patience)
	return nil
}
