-- The schema of farad's package fleet/postgres, version 1, for PostgreSQL 14 or newer. It may be
-- run again. Run it as the role that is to own it, which needs no other rights:
--
--     psql --single-transaction --set ON_ERROR_STOP=1 --file schema.sql
--
-- Programs call functions only, and have no right to a table:
--
--     GRANT USAGE ON SCHEMA farad TO worker;
--     GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA farad TO worker;
--
-- Every call is one transaction. Whatever changes something, but for renewals, locks the row of its
-- namespace first, and writes to it: so transactions of a namespace come one after the other. At
-- READ COMMITTED a statement sees after the lock what the transaction before has left. At a higher
-- isolation the lock fails if the row has changed since the snapshot. Rows do not grow in number
-- with use, and no indexed column changes: updates are HOT, and pages are pruned as they are used.

SELECT pg_advisory_xact_lock(7021790346093721);

DO $$
BEGIN
	IF to_regprocedure('farad.version()') IS NOT NULL THEN
		IF farad.version() > 1 THEN
			RAISE EXCEPTION 'farad: the schema is of a newer version';
		END IF;
	END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS farad;

CREATE OR REPLACE FUNCTION farad.version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';

-- A namespace. A revision is the time of a change, in microseconds since 1970, or one more than the
-- revision before if the clock has not got there. So it only grows, and goes on growing if commits
-- are lost in a failover, or a backup is restored.
CREATE TABLE IF NOT EXISTS farad.space (
	id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name   text COLLATE "C" NOT NULL UNIQUE,
	rev    bigint NOT NULL,           -- of the last change
	n      bigint NOT NULL DEFAULT 0, -- how many changes there were
	hinted bigint NOT NULL DEFAULT 0, -- n at the last notification
	channel text NOT NULL            -- of notifications; nobody can guess it
) WITH (fillfactor = 10);

-- A lease, and the session that it may be. Numbers are random: a sequence would begin again where a
-- restored backup ends.
CREATE TABLE IF NOT EXISTS farad.session (
	lease bigint PRIMARY KEY,
	space integer NOT NULL,
	who   text NOT NULL DEFAULT '',
	epoch bigint NOT NULL DEFAULT 0, -- 0: it is no session yet
	lasts interval NOT NULL,
	ends  timestamptz NOT NULL       -- by the clock of the server
) WITH (fillfactor = 25);
CREATE INDEX IF NOT EXISTS session_space ON farad.session (space);

-- A line: its size, and its entries, in order. The arrays are as long as each other. A row is short
-- of its page by half, so that the next version finds a place there.
CREATE TABLE IF NOT EXISTS farad.line (
	space    integer NOT NULL,
	name     text COLLATE "C" NOT NULL,
	size     bigint NOT NULL DEFAULT 0,
	size_mod bigint NOT NULL DEFAULT 0, -- the revision at which the size was written; 0: never
	leases   bigint[] NOT NULL DEFAULT '{}',
	seqs     bigint[] NOT NULL DEFAULT '{}',
	made     bigint[] NOT NULL DEFAULT '{}', -- revisions
	mods     bigint[] NOT NULL DEFAULT '{}', -- revisions of last changes
	weights  bigint[] NOT NULL DEFAULT '{}',
	PRIMARY KEY (space, name)
) WITH (fillfactor = 50, toast_tuple_target = 4000);

-- The last 1024 changes of each namespace, which take the rows in turn. Each knows the revision
-- before it, so that a reader notices if one is missing or the history is another one. The arrays
-- have an element for each entry, with weight 0 if it is gone; lease 0 is the size of the line.
CREATE TABLE IF NOT EXISTS farad.change (
	space   integer NOT NULL,
	slot    integer NOT NULL, -- n modulo 1024
	n       bigint NOT NULL,
	rev     bigint NOT NULL,
	before  bigint NOT NULL,
	lines   text[] NOT NULL,
	leases  bigint[] NOT NULL,
	seqs    bigint[] NOT NULL,
	made    bigint[] NOT NULL,
	weights bigint[] NOT NULL,
	PRIMARY KEY (space, slot)
) WITH (fillfactor = 50, toast_tuple_target = 4000);

-- What follows is for people.
CREATE OR REPLACE VIEW farad.entries AS
	SELECT p.name AS namespace, l.name AS line, l.size, e.place, e.weight,
		sum(e.weight) OVER (PARTITION BY l.space, l.name ORDER BY e.place) AS weight_up_to_here,
		e.lease, e.seq, s.who, s.ends
	FROM farad.line l
	JOIN farad.space p ON p.id = l.space
	CROSS JOIN LATERAL unnest(l.leases, l.seqs, l.weights) WITH ORDINALITY AS e (lease, seq, weight, place)
	LEFT JOIN farad.session s ON s.lease = e.lease;

-- Helpers ------------------------------------------------------------------------------------------

-- enter locks a namespace, which it makes if need be, until the end of the transaction.
CREATE OR REPLACE FUNCTION farad.enter(in_ns text) RETURNS farad.space
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp farad.space;
BEGIN
	-- A crash must take back nothing that others have seen.
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
	SELECT * INTO sp FROM farad.space s WHERE s.name = in_ns FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		INSERT INTO farad.space (name, rev, channel) VALUES (in_ns, farad.next(0), 'farad_' || gen_random_uuid())
		ON CONFLICT DO NOTHING;
		SELECT * INTO sp FROM farad.space s WHERE s.name = in_ns FOR NO KEY UPDATE;
	END IF;
	RETURN sp;
END $$;

-- next is the revision that follows another one.
CREATE OR REPLACE FUNCTION farad.next(in_rev bigint) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	SELECT greatest(in_rev + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- sweep ends the leases whose time is over. A row that is locked is being renewed, or deleted.
-- Standbys are refused: what they show is late.
CREATE OR REPLACE FUNCTION farad.sweep(in_ns text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp farad.space;
BEGIN
	IF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'farad: this server is a standby' USING ERRCODE = 'read_only_sql_transaction';
	END IF;
	SELECT * INTO sp FROM farad.space s WHERE s.name = in_ns;
	IF NOT FOUND THEN
		sp := farad.enter(in_ns);
	END IF;
	IF EXISTS (SELECT FROM farad.session s WHERE s.space = sp.id AND s.ends <= clock_timestamp()) THEN
		sp := farad.enter(in_ns); -- before the sessions, as all do
		DELETE FROM farad.session d WHERE d.lease IN (
			SELECT s.lease FROM farad.session s
			WHERE s.space = sp.id AND s.ends <= clock_timestamp() FOR UPDATE SKIP LOCKED);
	END IF;
END $$;

-- epoch_of returns the epoch of a lease, NULL if it has ended. The namespace is locked. If the time
-- of the lease is over, a renewal may be under way: the deletion waits for it, and looks again.
CREATE OR REPLACE FUNCTION farad.epoch_of(in_space integer, in_lease bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	se farad.session;
BEGIN
	SELECT * INTO se FROM farad.session s WHERE s.lease = in_lease AND s.space = in_space;
	IF se.ends <= clock_timestamp() THEN
		DELETE FROM farad.session s WHERE s.lease = in_lease AND s.ends <= clock_timestamp();
		SELECT * INTO se FROM farad.session s WHERE s.lease = in_lease;
	END IF;
	RETURN se.epoch;
END $$;

-- record makes a revision of changes. The namespace is locked. A notification is a hint, and only
-- for others that are in the line: in_hint. It has the changes since the last one if there is room,
-- so that who gets all of them need not read; there is one for each 32 changes in any case. Every
-- role may notify, but only those that may call channel know where. A full queue would make the
-- transaction fail, and any role of any database can fill it. So nothing goes into one that is half
-- full.
CREATE OR REPLACE FUNCTION farad.record(
	sp farad.space, in_rev bigint, in_lines text[], in_leases bigint[], in_seqs bigint[], in_made bigint[],
	in_weights bigint[], in_hint boolean
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	hint text;
BEGIN
	in_hint := in_hint OR sp.n - sp.hinted >= 31;
	UPDATE farad.space s SET rev = in_rev, n = sp.n + 1, hinted = CASE WHEN in_hint THEN sp.n + 1 ELSE s.hinted END
	WHERE s.id = sp.id;
	INSERT INTO farad.change AS c (space, slot, n, rev, before, lines, leases, seqs, made, weights)
	VALUES (sp.id, (sp.n + 1) % 1024, sp.n + 1, in_rev, sp.rev, in_lines, in_leases, in_seqs, in_made, in_weights)
	ON CONFLICT (space, slot) DO UPDATE SET n = excluded.n, rev = excluded.rev, before = excluded.before,
		lines = excluded.lines, leases = excluded.leases, seqs = excluded.seqs, made = excluded.made,
		weights = excluded.weights;
	IF in_hint THEN
		IF sp.n - sp.hinted < 64 THEN
			SELECT json_agg(json_build_object('n', c.n, 'rev', c.rev, 'before', c.before, 'lines', c.lines,
				'leases', c.leases, 'seqs', c.seqs, 'made', c.made, 'weights', c.weights) ORDER BY c.n)
			INTO hint FROM farad.change c WHERE c.space = sp.id AND c.n > sp.hinted
				AND c.slot = ANY (ARRAY(SELECT (g % 1024)::integer FROM generate_series(sp.hinted + 1, sp.n + 1) AS g));
		END IF;
		PERFORM pg_notify(sp.channel, CASE WHEN octet_length(hint) < 7900 THEN hint ELSE '' END)
		WHERE pg_notification_queue_usage() < 0.5;
	END IF;
END $$;

-- ended has the entries of sessions vanish with them, no matter who deletes those.
CREATE OR REPLACE FUNCTION farad.ended() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp  farad.space;
	ids integer[] := ARRAY(SELECT DISTINCT g.space FROM gone g ORDER BY 1);
	all_leases bigint[] := ARRAY(SELECT g.lease FROM gone g);
	one integer;
	ls text[]; le bigint[]; sq bigint[]; zero bigint[];
BEGIN
	FOREACH one IN ARRAY ids LOOP
		SELECT * INTO sp FROM farad.space s WHERE s.id = one FOR NO KEY UPDATE;
		CONTINUE WHEN NOT FOUND;
		UPDATE farad.space s SET n = s.n WHERE s.id = one; -- older snapshots, which show the lease, are of no use
		SELECT array_agg(l.name), array_agg(e.lease), array_agg(e.seq), array_agg(0) INTO ls, le, sq, zero
		FROM farad.line l CROSS JOIN LATERAL unnest(l.leases, l.seqs) AS e (lease, seq)
		WHERE l.space = one AND l.leases && all_leases AND e.lease = ANY (all_leases);
		CONTINUE WHEN ls IS NULL;
		UPDATE farad.line l SET (leases, seqs, made, mods, weights) = (
			SELECT coalesce(array_agg(e.lease ORDER BY e.place), '{}'), coalesce(array_agg(e.seq ORDER BY e.place), '{}'),
				coalesce(array_agg(e.made ORDER BY e.place), '{}'), coalesce(array_agg(e.mod ORDER BY e.place), '{}'),
				coalesce(array_agg(e.weight ORDER BY e.place), '{}')
			FROM unnest(l.leases, l.seqs, l.made, l.mods, l.weights) WITH ORDINALITY
				AS e (lease, seq, made, mod, weight, place)
			WHERE e.lease <> ALL (all_leases))
		WHERE l.space = one AND l.name = ANY (ls);
		DELETE FROM farad.line l WHERE l.space = one AND l.name = ANY (ls) AND l.size_mod = 0 AND l.leases = '{}';
		PERFORM farad.record(sp, farad.next(sp.rev), ls, le, sq, zero, zero, true);
	END LOOP;
	RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER ended AFTER DELETE ON farad.session
	REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION farad.ended();

-- Sessions -----------------------------------------------------------------------------------------

-- grant_lease makes a lease that lasts so many microseconds.
CREATE OR REPLACE FUNCTION farad.grant_lease(in_version integer, in_ns text, in_lasts bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp farad.space;
	id bigint := ('x' || translate(left(gen_random_uuid()::text, 18), '-', ''))::bit(64)::bigint & 9223372036854775807;
	lasts interval := in_lasts * interval '1 microsecond';
BEGIN
	IF in_version <> farad.version() THEN
		RAISE EXCEPTION 'farad: the schema has version %, and the program needs %', farad.version(), in_version
			USING ERRCODE = 'undefined_function';
	END IF;
	PERFORM farad.sweep(in_ns);
	sp := farad.enter(in_ns);
	INSERT INTO farad.session (lease, space, lasts, ends) VALUES (id, sp.id, lasts, clock_timestamp() + lasts);
	RETURN id;
END $$;

-- begin_session begins another epoch, and returns it; NULL if the lease has ended.
CREATE OR REPLACE FUNCTION farad.begin_session(in_ns text, in_lease bigint, in_who text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp farad.space;
	now_is bigint;
BEGIN
	PERFORM farad.sweep(in_ns);
	sp := farad.enter(in_ns); -- what was sent earlier is done, or will see the new epoch
	now_is := farad.epoch_of(sp.id, in_lease) + 1;
	UPDATE farad.session s SET who = in_who, epoch = now_is WHERE s.lease = in_lease AND now_is IS NOT NULL;
	UPDATE farad.space s SET n = s.n WHERE s.id = sp.id; -- older snapshots, which show the old epoch, are of no use
	RETURN now_is;
END $$;

-- renew has a lease last for its time from now on, which it returns in microseconds, with the newest
-- revision, and how many microseconds there are until another lease may end. It returns no row if
-- the lease has ended. It waits for no transaction of a line.
CREATE OR REPLACE FUNCTION farad.renew(in_ns text, in_lease bigint)
RETURNS TABLE (lasts bigint, rev bigint, rest bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
	RETURN QUERY UPDATE farad.session s SET ends = clock_timestamp() + s.lasts
		FROM farad.space p WHERE p.name = in_ns AND s.space = p.id AND s.lease = in_lease AND s.ends > clock_timestamp()
		RETURNING (extract(epoch FROM s.lasts) * 1000000)::bigint, p.rev,
			(SELECT (extract(epoch FROM min(o.ends) - clock_timestamp()) * 1000000)::bigint
				FROM farad.session o WHERE o.space = p.id AND o.lease <> in_lease);
	IF NOT FOUND THEN
		PERFORM farad.sweep(in_ns);
	END IF;
END $$;

-- revoke ends a lease now, and reports whether there was one.
CREATE OR REPLACE FUNCTION farad.revoke(in_ns text, in_lease bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp farad.space;
BEGIN
	PERFORM farad.sweep(in_ns);
	sp := farad.enter(in_ns);
	DELETE FROM farad.session s WHERE s.lease = in_lease AND s.space = sp.id;
	RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION farad.sessions(in_ns text) RETURNS TABLE (lease bigint, who text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM farad.sweep(in_ns);
	RETURN QUERY SELECT s.lease, s.who FROM farad.session s JOIN farad.space p ON p.id = s.space
		WHERE p.name = in_ns AND s.epoch > 0;
END $$;

-- Lines --------------------------------------------------------------------------------------------

-- read_line returns the line as it is now, and the newest revision, from one snapshot.
CREATE OR REPLACE FUNCTION farad.read_line(
	in_ns text, in_line text, OUT rev bigint, OUT size bigint, OUT size_mod bigint, OUT leases bigint[],
	OUT seqs bigint[], OUT made bigint[], OUT mods bigint[], OUT weights bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM farad.sweep(in_ns);
	SELECT p.rev, coalesce(l.size, 0), coalesce(l.size_mod, 0), coalesce(l.leases, '{}'), coalesce(l.seqs, '{}'),
		coalesce(l.made, '{}'), coalesce(l.mods, '{}'), coalesce(l.weights, '{}')
	INTO rev, size, size_mod, leases, seqs, made, mods, weights
	FROM farad.space p LEFT JOIN farad.line l ON l.space = p.id AND l.name = in_line WHERE p.name = in_ns;
END $$;

-- probe is read_line for a role that may write.
CREATE OR REPLACE FUNCTION farad.probe(
	in_ns text, in_line text, OUT rev bigint, OUT size bigint, OUT size_mod bigint, OUT leases bigint[],
	OUT seqs bigint[], OUT made bigint[], OUT mods bigint[], OUT weights bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM farad.enter(in_ns);
	SELECT * INTO rev, size, size_mod, leases, seqs, made, mods, weights FROM farad.read_line(in_ns, in_line);
END $$;

-- write_line carries out a transaction if its guards are true: the epoch, the revision of the size
-- unless that is NULL, and for each entry of the lease the revision of its last change, 0 if there
-- must be none. A weight of 0 deletes. It returns the epoch, NULL if the lease has ended, and the
-- line after it.
CREATE OR REPLACE FUNCTION farad.write_line(
	in_ns text, in_line text, in_lease bigint, in_epoch bigint, in_size_mod bigint,
	in_seqs bigint[], in_mods bigint[], in_weights bigint[],
	OUT epoch bigint, OUT rev bigint, OUT size bigint, OUT size_mod bigint, OUT leases bigint[],
	OUT seqs bigint[], OUT made bigint[], OUT mods bigint[], OUT weights bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp   farad.space;
	l    farad.line;
	new  bigint;
	others boolean;
	op_made bigint[];
BEGIN
	PERFORM farad.sweep(in_ns);
	sp := farad.enter(in_ns);
	epoch := farad.epoch_of(sp.id, in_lease);
	SELECT * INTO sp FROM farad.space s WHERE s.id = sp.id;
	rev := sp.rev;
	SELECT * INTO l FROM farad.line o WHERE o.space = sp.id AND o.name = in_line;
	size := coalesce(l.size, 0);
	size_mod := coalesce(l.size_mod, 0);
	leases := coalesce(l.leases, '{}');
	seqs := coalesce(l.seqs, '{}');
	made := coalesce(l.made, '{}');
	mods := coalesce(l.mods, '{}');
	weights := coalesce(l.weights, '{}');
	IF epoch IS NULL OR epoch <> in_epoch OR in_size_mod <> size_mod OR EXISTS (
		SELECT FROM unnest(in_seqs, in_mods) AS o (seq, mod)
		LEFT JOIN unnest(leases, seqs, mods) AS e (lease, seq, mod) ON e.lease = in_lease AND e.seq = o.seq
		WHERE coalesce(e.mod, 0) <> o.mod)
	THEN
		RETURN;
	END IF;
	new := farad.next(sp.rev);
	others := leases <> array_fill(in_lease, ARRAY[cardinality(leases)]);
	op_made := ARRAY(
		SELECT CASE WHEN o.weight = 0 THEN 0 ELSE coalesce(e.made, new) END
		FROM unnest(in_seqs, in_weights) WITH ORDINALITY AS o (seq, weight, place)
		LEFT JOIN unnest(leases, seqs, made) AS e (lease, seq, made) ON e.lease = in_lease AND e.seq = o.seq
		ORDER BY o.place);
	SELECT coalesce(array_agg(x.lease), '{}'), coalesce(array_agg(x.seq), '{}'), coalesce(array_agg(x.made), '{}'),
		coalesce(array_agg(x.mod), '{}'), coalesce(array_agg(x.weight), '{}')
	INTO leases, seqs, made, mods, weights
	FROM (
		SELECT * FROM unnest(leases, seqs, made, mods, weights) AS e (lease, seq, made, mod, weight)
		WHERE e.lease <> in_lease OR e.seq <> ALL (in_seqs)
		UNION ALL
		SELECT in_lease, o.seq, o.made, new, o.weight FROM unnest(in_seqs, op_made, in_weights) AS o (seq, made, weight)
		WHERE o.weight > 0
		ORDER BY made, lease, seq
	) AS x;
	IF l.space IS NULL THEN
		IF leases <> '{}' THEN
			INSERT INTO farad.line (space, name, leases, seqs, made, mods, weights)
			VALUES (sp.id, in_line, leases, seqs, made, mods, weights);
		END IF;
	ELSIF leases = '{}' AND size_mod = 0 THEN
		DELETE FROM farad.line o WHERE o.space = sp.id AND o.name = in_line;
	ELSE
		UPDATE farad.line o SET leases = write_line.leases, seqs = write_line.seqs, made = write_line.made,
			mods = write_line.mods, weights = write_line.weights
		WHERE o.space = sp.id AND o.name = in_line;
	END IF;
	PERFORM farad.record(sp, new, array_fill(in_line, ARRAY[cardinality(in_seqs)]),
		array_fill(in_lease, ARRAY[cardinality(in_seqs)]), in_seqs, op_made, in_weights, others);
	rev := new;
END $$;

-- fence begins another epoch, as begin_session does, and returns it with the line as it is then.
CREATE OR REPLACE FUNCTION farad.fence(
	in_ns text, in_line text, in_lease bigint, in_who text,
	OUT epoch bigint, OUT rev bigint, OUT size bigint, OUT size_mod bigint, OUT leases bigint[],
	OUT seqs bigint[], OUT made bigint[], OUT mods bigint[], OUT weights bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	epoch := farad.begin_session(in_ns, in_lease, in_who);
	SELECT * INTO rev, size, size_mod, leases, seqs, made, mods, weights FROM farad.read_line(in_ns, in_line);
END $$;

-- resize writes the size if it was written last at a revision, 0 if never; if that is NULL, in any
-- case, as people want it. With in_unused it does so only if the line has no entries. It reports
-- whether it did, and returns the line after it.
CREATE OR REPLACE FUNCTION farad.resize(
	in_ns text, in_line text, in_size bigint, in_mod bigint DEFAULT NULL, in_unused boolean DEFAULT false,
	OUT done boolean, OUT rev bigint, OUT size bigint, OUT size_mod bigint, OUT leases bigint[],
	OUT seqs bigint[], OUT made bigint[], OUT mods bigint[], OUT weights bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp  farad.space;
	new bigint;
BEGIN
	PERFORM farad.sweep(in_ns);
	sp := farad.enter(in_ns);
	SELECT * INTO rev, size, size_mod, leases, seqs, made, mods, weights FROM farad.read_line(in_ns, in_line);
	done := coalesce(in_mod = size_mod, true) AND NOT (in_unused AND leases <> '{}');
	IF done THEN
		SELECT * INTO sp FROM farad.space s WHERE s.id = sp.id;
		new := farad.next(sp.rev);
		INSERT INTO farad.line AS l (space, name, size, size_mod) VALUES (sp.id, in_line, in_size, new)
		ON CONFLICT (space, name) DO UPDATE SET size = excluded.size, size_mod = excluded.size_mod;
		PERFORM farad.record(sp, new, ARRAY[in_line], ARRAY[0::bigint], ARRAY[0::bigint], ARRAY[0::bigint], ARRAY[in_size], true);
		rev := new;
		size := in_size;
		size_mod := new;
	END IF;
END $$;

-- Changes ------------------------------------------------------------------------------------------

-- revision returns the newest one.
CREATE OR REPLACE FUNCTION farad.revision(in_ns text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM farad.sweep(in_ns);
	RETURN (SELECT p.rev FROM farad.space p WHERE p.name = in_ns);
END $$;

-- channel returns where notifications come.
CREATE OR REPLACE FUNCTION farad.channel(in_ns text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM farad.sweep(in_ns);
	RETURN (SELECT p.channel FROM farad.space p WHERE p.name = in_ns);
END $$;

-- changes returns what has changed after a revision, in order, and then a row without lines that has
-- the newest revision, and how many microseconds there are until a lease may end. In_at is the
-- number of the change at that revision, NULL if the caller does not know. It fails with FA001 if
-- changes are missing.
CREATE OR REPLACE FUNCTION farad.changes(in_ns text, in_after bigint, in_at bigint) RETURNS TABLE (
	n bigint, rev bigint, lines text[], leases bigint[], seqs bigint[], made bigint[], weights bigint[], rest bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sp farad.space;
	c  farad.change;
	known bigint := in_after;
	place bigint := in_at;
BEGIN
	PERFORM farad.sweep(in_ns);
	SELECT * INTO sp FROM farad.space p WHERE p.name = in_ns;
	IF known < sp.rev THEN
		IF place IS NULL THEN
			SELECT o.n - 1 INTO place FROM farad.change o WHERE o.space = sp.id AND o.before = in_after;
		END IF;
		IF sp.n - place <= 1024 THEN
			FOR c IN SELECT o.* FROM farad.change o WHERE o.space = sp.id AND o.n > place AND o.n <= sp.n
				AND o.slot = ANY (ARRAY(SELECT (g % 1024)::integer FROM generate_series(place + 1, sp.n) AS g)) ORDER BY o.n
			LOOP
				EXIT WHEN c.before <> known;
				known := c.rev;
				RETURN QUERY SELECT c.n, c.rev, c.lines, c.leases, c.seqs, c.made, c.weights, NULL::bigint;
			END LOOP;
		END IF;
		IF known <> sp.rev THEN
			RAISE EXCEPTION 'farad: changes after revision % are not known any more', in_after USING ERRCODE = 'FA001';
		END IF;
	END IF;
	RETURN QUERY SELECT sp.n, sp.rev, NULL::text[], NULL::bigint[], NULL::bigint[], NULL::bigint[], NULL::bigint[],
		(SELECT (extract(epoch FROM min(s.ends) - clock_timestamp()) * 1000000)::bigint
			FROM farad.session s WHERE s.space = sp.id);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA farad FROM PUBLIC;
