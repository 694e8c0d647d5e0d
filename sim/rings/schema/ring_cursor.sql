-- The cursor of a ring from the authority in force. STABLE, so authority and cursor are read under one snapshot.
CREATE FUNCTION ring_cursor(ring text, OUT slot integer, OUT generation bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    mode text;
BEGIN
    SELECT a.authority INTO mode FROM ring_cursor_authority a WHERE a.singleton;
    IF ring = 'queue' THEN
        IF mode = 'ledger' THEN
            SELECT r.slot, r.generation INTO slot, generation FROM queue_ring_rotations r ORDER BY r.generation DESC LIMIT 1;
        ELSE
            SELECT s.current_slot, s.generation INTO slot, generation FROM queue_ring_state s WHERE s.singleton;
        END IF;
    ELSIF ring = 'lease' THEN
        IF mode = 'ledger' THEN
            SELECT r.slot, r.generation INTO slot, generation FROM lease_ring_rotations r ORDER BY r.generation DESC LIMIT 1;
        ELSE
            SELECT s.current_slot, s.generation INTO slot, generation FROM lease_ring_state s WHERE s.singleton;
        END IF;
    ELSIF ring = 'claim' THEN
        IF mode = 'ledger' THEN
            SELECT r.slot, r.generation INTO slot, generation FROM claim_ring_rotations r ORDER BY r.generation DESC LIMIT 1;
        ELSE
            SELECT s.current_slot, s.generation INTO slot, generation FROM claim_ring_state s WHERE s.singleton;
        END IF;
    ELSE
        RAISE EXCEPTION 'unknown ring %', ring USING ERRCODE = '22023';
    END IF;
END
$$;
