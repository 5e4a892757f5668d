import sys, megalith  # train.py BATCHES DIR FLAGS...: trains three steps, saves, trains three more in a new session
file = open(sys.argv[1], "rb")
def fill(batch):  # each sample of the file has its tokens, then its labels
    for sample, tokens, labels in batch.rows():
        file.seek(2 * sample * tokens.nbytes), file.readinto(tokens), file.readinto(labels)
for part, load in enumerate([[], ["--load", sys.argv[2]]]):
    with megalith.Session(megalith.Config(sys.argv[3:] + load), fill) as s:
        while s.iteration < 3 * (part + 1):
            print((r := s.step()).iteration, r.loss, s.gradient("decoder.final_layernorm.weight")[0])
        s.save(sys.argv[2])
