-- Fails the statement that calls it, which undoes what the statement has written: it is too late (db/admission/accepts.ts).
CREATE OR REPLACE FUNCTION "too_late"() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The send came too late to be recorded' USING ERRCODE = 'LATE0';
END $$;
