package replay

import (
	"context"

	"simrun/scheduler"
	"simrun/sim"
)

// Shrink makes the schedule of a failure file small, on the model, and returns the file of the shrunk run.
func Shrink(ctx context.Context, f *File, tool string, opt scheduler.ShrinkOptions) (*File, *scheduler.Shrunk, error) {
	setup, _, err := f.Build(f.Seed)
	if err != nil {
		return nil, nil, err
	}
	model, err := sim.NewModel(setup)
	if err != nil {
		return nil, nil, err
	}
	sys, err := sim.NewSystem(setup, model, sim.Options{Record: true, Lazy: f.Lazy})
	if err != nil {
		return nil, nil, err
	}
	defer sys.Close()
	opt.Limits.Steps = setup.MaxSteps
	_, shrunk, err := scheduler.ShrinkRun(ctx, sys, 0, f.Choices(), opt)
	if err != nil {
		return nil, nil, err
	}
	run, err := Follow(f.Spec, shrunk.Names, sim.NewModel)
	if err != nil {
		return nil, nil, err
	}
	return NewFile(run, tool), shrunk, nil
}
