package antspool

// A list of jobs, linked through them. The zero list is empty.
type list struct {
	front, back *Job
	len         int
}

func (l *list) pushBack(j *Job) {
	j.in, j.prev, j.next = l, l.back, nil
	if l.back == nil {
		l.front = j
	} else {
		l.back.next = j
	}
	l.back = j
	l.len++
}

func (l *list) remove(j *Job) {
	if j.prev == nil {
		l.front = j.next
	} else {
		j.prev.next = j.next
	}
	if j.next == nil {
		l.back = j.prev
	} else {
		j.next.prev = j.prev
	}
	j.in, j.prev, j.next = nil, nil, nil
	l.len--
}
