package scheduler

func (s *search[S]) resume() (bool, error) { return false, nil }
func (s *search[S]) saveOrRemove() error   { return nil }
