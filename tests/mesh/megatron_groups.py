"""The ranks of Megatron Core's groups, in both views: prints tests/mesh/megatron_groups.txt.
   python tests/mesh/megatron_groups.py > tests/mesh/megatron_groups.txt"""
from megatron.core.parallel_state import RankGenerator

ORDER = "tp-cp-ep-dp-pp"
SIZES = [  # tp, cp, dp, pp, etp, ep
    (2, 1, 4, 1, 2, 1), (2, 1, 4, 1, 1, 1), (2, 1, 4, 1, 1, 4), (4, 2, 4, 1, 1, 8), (2, 2, 2, 2, 2, 2), (1, 4, 2, 1, 1, 2),
    (4, 1, 2, 1, 2, 2), (2, 1, 8, 1, 4, 2), (2, 2, 2, 1, 1, 8), (2, 2, 2, 2, 1, 2), (2, 4, 2, 1, 4, 4)]
GROUPS = {"tensor": ("dense", "tp"), "context": ("dense", "cp"), "data": ("dense", "dp"), "data_context": ("dense", "dp-cp"),
          "pipeline": ("dense", "pp"), "expert_tensor": ("expert", "tp"), "expert": ("expert", "ep"), "expert_data": ("expert", "dp"),
          "expert and expert_tensor": ("expert", "tp-ep")}

for tp, cp, dp, pp, etp, ep in SIZES:
    views = {"dense": RankGenerator(tp=tp, ep=1, dp=dp, pp=pp, cp=cp, order=ORDER),
             "expert": RankGenerator(tp=etp, ep=ep, dp=tp * cp * dp // (etp * ep), pp=pp, cp=1, order=ORDER)}
    print(f"tp {tp} cp {cp} dp {dp} pp {pp} etp {etp} ep {ep}")
    for name, (view, token) in GROUPS.items():
        groups = sorted(views[view].get_ranks(token))
        print(f"  {name}: " + " | ".join(" ".join(map(str, g)) for g in groups))
